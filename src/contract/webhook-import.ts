import { z } from 'zod';
import { allowsFinality } from '../domain/chain/finality-by-amount.ts';
import { MAX_NETWORK_ID } from '../domain/networks.ts';
import { endpointUpdateSchema } from './endpoints/endpoint.ts';
import { finalOnly, newWebhookOptionsSchema } from './webhooks/options.ts';
import { postUrlSchema, type RegistrationRules } from './webhooks.ts';

/** How far the clock of the exporting service may be ahead of the clock here. */
const CLOCK_TOLERANCE_S = 3_600;

/** Above it, a date is in milliseconds, as other services write it: in seconds it would be after the year 5000. */
const MAX_SECONDS = 100_000_000_000;

/** One line of an import: the fields of a registration, and the id and date of an exported webhook. */
export function importedWebhookSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets' | 'events'>, nowS: number) {
  const networkRule = `must be a whole number from 0 to ${MAX_NETWORK_ID}`;
  const dateRule =
    'must be Unix time in whole seconds or milliseconds and not in the future; leave it out for the present';
  return z
    .strictObject(
      {
        webhookId: z
          .string({ error: 'must be a string' })
          .regex(/^[A-Za-z0-9_-]{1,128}$/, { error: 'must be 1 to 128 letters, digits, - or _' })
          .optional(),
        networkId: z
          .int({ error: networkRule })
          .min(0, { error: networkRule })
          .max(MAX_NETWORK_ID, { error: networkRule }),
        event: z.enum(rules.events, { error: `must be one of ${rules.events.join(', ')} (names are case-sensitive)` }),
        postUrl: postUrlSchema(rules),
        // Dates never decrease, so every later webhook would get a date that is far in the future.
        dateCreated: z
          .int({ error: dateRule })
          .min(0, { error: dateRule })
          .transform((date) => (date > MAX_SECONDS ? Math.floor(date / 1000) : date))
          .pipe(z.number().max(nowS + CLOCK_TOLERANCE_S, { error: dateRule }))
          .optional(),
        options: newWebhookOptionsSchema.optional(),
      },
      { error: 'the line must be a JSON object' },
    )
    .superRefine(({ event, options }, context) => {
      if (allowsFinality(event, options?.finality ?? 'final')) return;
      context.addIssue({ code: 'custom', path: ['options', 'finality'], message: finalOnly(event) });
    });
}

/** A line of an import that has the settings of a URL. Its headers are named, and have to be set again by hand. */
export function importedEndpointSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets'>) {
  const { name, ordering, paused, rateLimit } = endpointUpdateSchema({ signatureHeader: undefined }).shape;
  return z.strictObject({
    endpoint: z.strictObject(
      {
        postUrl: postUrlSchema(rules),
        name,
        ordering,
        paused,
        rateLimit,
        headerNames: z.array(z.string(), { error: 'must be an array of header names' }).optional(),
      },
      { error: 'must be an object' },
    ),
  });
}

export type ImportedEndpoint = z.output<ReturnType<typeof importedEndpointSchema>>['endpoint'];
