import type { Payloads, WebhookSuspended } from '../contract/event-payloads.ts';

/**
 * Every kind of event with its payload. An interface, so that a receiver of an operator with kinds of its own can add
 * them: `declare module 'paybell/verify' { interface EventsByKind { RefundIssued: { … } } }`.
 */
export interface EventsByKind extends Payloads {
  'webhook.suspended': WebhookSuspended;
}

/**
 * What a post carries; `event` tells which it is. The list is not closed: an operator may add kinds, so a `switch` over
 * it needs a `default`.
 */
export type PaybellEvent = EventsByKind[keyof EventsByKind];
