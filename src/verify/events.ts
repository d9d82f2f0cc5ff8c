import type {
  EndpointFailing,
  EndpointRecovered,
  EventRetracted,
  Payloads,
  WebhookSuspended,
} from '../contract/events/payloads.ts';

/**
 * Every kind of event with its payload. Receivers add the kinds of their operator by declaration merging:
 * `declare module '@paybell/client/verify' { interface EventsByKind { RefundIssued: { … } } }`.
 */
export interface EventsByKind extends Payloads {
  EventRetracted: EventRetracted;
  'webhook.suspended': WebhookSuspended;
  'endpoint.failing': EndpointFailing;
  'endpoint.recovered': EndpointRecovered;
}

/**
 * The payload of a request; `event` tells its kind. An operator may add kinds, so a `switch` over `event` needs a
 * `default`.
 */
export type PaybellEvent = EventsByKind[keyof EventsByKind];
