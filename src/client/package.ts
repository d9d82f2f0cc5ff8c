/** The exports of `@paybell/client`. */

export type * from './admin.ts';
export type * from './audit.ts';
export type * from './chain/chains.ts';
export type * from './chain/facts.ts';
export type * from './chain/invoices.ts';
export type * from './chain/payments.ts';
export type * from './chain/sources.ts';
export type * from './deliveries.ts';
export type * from './endpoints.ts';
// biome-ignore lint/performance/noBarrelFile: a package has one entry point
export {
  ConnectionError,
  type ErrorCode,
  type Fault,
  PaybellError,
  type ProblemCode,
  ProblemError,
  type RemovedNumbers,
  RemovedNumbersError,
  TimeLimitError,
} from './errors.ts';
export type * from './events/events.ts';
export type * from './events/reconciliations.ts';
export type * from './listen/listen-sessions.ts';
export type { Feed, FeedEntry, FeedOptions, FeedQuery } from './pages.ts';
export { type CallerInfo, Paybell, type Stats, type StatsQuery } from './paybell.ts';
export type * from './secrets.ts';
export type * from './tenants/keys.ts';
export type { CallOptions, ClientOptions, Fetch } from './transport.ts';
export type * from './webhooks.ts';
