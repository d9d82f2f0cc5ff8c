import type { z } from 'zod';

/**
 * The client's types are inferred from the schemas that the service validates with. The client imports only types, so no
 * schema is shipped with it; the package build writes the inferred types out.
 */

/** The parameters of a query: every one may be left out. */
export type Query<Schema extends z.ZodType> = { [Name in keyof z.output<Schema>]?: z.output<Schema>[Name] | undefined };

/**
 * The filters of a bulk operation. `dryRun` is a separate method, so that a count cannot be mistaken for a change.
 * `networkIds` and `events` are for clients of other services, which send them as one text.
 */
export type Match<Schema extends z.ZodType> = Omit<Query<Schema>, 'dryRun' | 'networkIds' | 'events'>;

/** A request body whose schema depends on the settings of the service. */
export type Body<Factory extends (...rules: never[]) => z.ZodType> = z.input<ReturnType<Factory>>;
