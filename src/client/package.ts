/** What `paybell/client` shows. */

// biome-ignore lint/performance/noBarrelFile: a package has one front door
export { ConnectionError, type ErrorCode, PaybellError, ProblemError, TimeLimitError } from './errors.ts';
export type { NewEvent } from './events.ts';
export { Paybell } from './paybell.ts';
export type { CallOptions, ClientOptions, Fetch } from './transport.ts';
export type * from './types.ts';
export type { TaggedWebhook } from './webhooks.ts';
