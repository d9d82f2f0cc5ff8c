/**
 * Errors of the store, with the data of each case. The command line prints the sentence as it is. The API adds a code,
 * headers and the names of its inputs (`api/http/store-errors.ts`).
 */
type Facts = {
  entity_not_found: { entityId: string };
  /** The webhook is no longer the one that the caller has read. */
  webhook_changed: { webhookId: string };
  /** No two webhooks of an entity have the same network, event and URL. */
  duplicate_webhook: { webhookId: string; existingId: string };
  /** Registering again does not change a webhook. */
  other_options: { webhookId: string };
  filters_too_large: { bytes: number; limitBytes: number };
  /** `isBulk`: one of many matching webhooks is the cause. */
  finality_not_allowed: { event: string; isBulk: boolean };
  too_many_matches: { matches: number; limit: number };
  /** More deliveries wait in order than one request can give another order. */
  ordered_deliveries_waiting: { waiting: number; limit: number };
  entity_full: { webhooks: number; limit: number };
  /** The numbers of webhooks are part of delivery ids, which have space for a fixed number of digits. */
  entity_exhausted: { entityId: string };
  /** The limit of one network and event, which bounds the fan-out of an event. */
  cell_full: { networkId: number; event: string; limit: number };
  secret_limit: { limit: number };
  signing_key_limit: { limit: number };
  backlog_full: { waiting: number; limit: number };
  storage_full: { storedBytes: number; limitBytes: number };
  /** Too many events of the entity are held for transactions that no node has. */
  held_limit: { limit: number };
  /** Too many bulk redeliveries of the entity are not done. */
  redeliveries_running: { limit: number };
  /** One event id stands for one body. */
  event_conflict: { eventId: string };
  /** A retraction names an event that was never accepted, or that retention has removed. */
  retracted_not_found: { eventId: string };
  already_retracted: { eventId: string };
  retraction_of_retraction: { eventId: string };
  /** A retracted event is not sent again. */
  event_retracted: { eventId: string };
  event_outdated: { eventId: string; outdatedBy: string };
  /** Retention removed the event after the insert had found it, and before its body was read. */
  event_just_removed: { eventId: string };
  page_too_large: { bytes: number; limitBytes: number };
  /** The day has more data than one request can sum up. */
  day_too_large: { what: 'events' | 'payments' | 'tokens'; limit: number };
  /** More deliveries have a next attempt than one request can sort by its time. */
  sort_too_large: { limit: number };
  /** More matches lie before the page than one request can skip. */
  page_too_deep: { limit: number };
  webhook_deleted: { webhookId: string };
  webhook_suspended: { webhookId: string };
  too_many_headers: { headers: number; limit: number };
  headers_too_large: { bytes: number; limitBytes: number };
  /** A client certificate is part of TLS. */
  certificate_without_tls: { postUrl: string };
  /** The delivery is an alert, and the entity no longer has a URL for alerts. */
  alerts_off: { entityId: string };
  listen_limit: { limit: number };
  source_limit: { limit: number };
  address_limit: { limit: number; setting: 'ENTITY_ADDRESS_LIMIT' | 'CHAIN_ADDRESS_LIMIT' };
  /** Invoices have created the source, and it serves only them. */
  source_of_invoices: { sourceId: string };
  invoice_limit: { limit: number };
  /** A request repeats the reference of an invoice with other terms. */
  invoice_conflict: { reference: string; invoiceId: string };
  address_in_use: { invoiceId: string };
  amount_in_use: { invoiceId: string };
  invoice_expiry: { earliest: number; latest: number };
  /** A paid invoice cannot be cancelled. */
  invoice_paid: { invoiceId: string };
  key_limit: { limit: number };
  /** The key was revoked or has expired between its authentication and the change. */
  key_not_in_force: Record<string, never>;
  key_outlives_its_maker: { latest: number };
  key_in_use: { keyId: string };
  /** No key that can create another key would be left. */
  last_key: { keyId: string };
};

const SENTENCES: { readonly [Kind in keyof Facts]: (facts: Facts[Kind]) => string } = {
  entity_not_found: () => 'There is no such entity.',
  webhook_changed: ({ webhookId }) => `The webhook ${webhookId} has changed since you read it. Read it again first.`,
  duplicate_webhook: ({ webhookId, existingId }) =>
    `With this postUrl, the webhook ${webhookId} would equal ${existingId}, and an entity cannot have a webhook twice. ` +
    'Delete one of them first. Nothing was changed.',
  other_options: ({ webhookId }) =>
    `The webhook ${webhookId} is registered with other options. Change its options instead. Nothing was registered.`,
  filters_too_large: ({ bytes, limitBytes }) =>
    `The filters of an entity have at most ${limitBytes} bytes together, and with this request they would have ${bytes}. ` +
    'Equal filters count once. Nothing was changed.',
  finality_not_allowed: ({ event }) => `The finality of a webhook for ${event} is always final. Nothing was changed.`,
  too_many_matches: ({ matches, limit }) =>
    `${matches} webhooks match, and one request changes at most ${limit}. Narrow the filter.`,
  ordered_deliveries_waiting: ({ waiting, limit }) =>
    `${showCount(waiting, 'delivery', 'deliveries')} to these webhooks wait, and a change of their order can move at most ` +
    `${limit}. Try again when fewer of them wait. Nothing was changed.`,
  entity_full: ({ webhooks, limit }) =>
    `An entity has at most ${showCount(limit, 'webhook')}, and this request would make it ${webhooks}. Nothing was registered.`,
  entity_exhausted: ({ entityId }) =>
    `The webhooks of ${entityId} have been changed four billion times, and no number is left for a new one. ` +
    'Register it under a new entity. Nothing was registered.',
  cell_full: ({ networkId, event, limit }) =>
    `An entity has at most ${showCount(limit, 'webhook')} for one network and event; network ${networkId} and ${event} would have ` +
    'more. Nothing was registered.',
  secret_limit: ({ limit }) =>
    `At most ${limit} secrets can be in force. Wait until one expires, or rotate with an overlap of 0 hours.`,
  signing_key_limit: ({ limit }) =>
    `At most ${limit} signing keys can be in force. Wait until one expires, or rotate with an overlap of 0 hours.`,
  backlog_full: ({ waiting, limit }) =>
    `${waiting === 1 ? '1 delivery of this entity is' : `${waiting} deliveries of this entity are`} waiting, and the limit is ${limit}. ` +
    'Fix or delete the webhooks that do not accept their deliveries, then send the event again.',
  storage_full: ({ storedBytes, limitBytes }) =>
    `The events and deliveries of this entity take ${storedBytes} bytes, and the limit is ${limitBytes}. There is room ` +
    'again once retention has removed old ones; the operator can raise ENTITY_STORAGE_LIMIT.',
  held_limit: ({ limit }) =>
    `${showCount(limit, 'event')} of this entity are held for transactions that no block has yet, and the limit is ${limit}. Check ` +
    'the transaction hashes. Send the event again once some of the transactions are in a block, or without hold=chain.',
  redeliveries_running: ({ limit }) =>
    `${limit} bulk redeliveries of this entity are running, which is the limit. Wait until one has finished.`,
  event_conflict: ({ eventId }) => `The event ${eventId} was accepted before with a different body.`,
  retracted_not_found: ({ eventId }) =>
    `There is no event ${eventId} to retract. Nothing was accepted; check retracts.eventId.`,
  already_retracted: ({ eventId }) => `The event ${eventId} was retracted before. Nothing was accepted.`,
  retraction_of_retraction: ({ eventId }) =>
    `The event ${eventId} is a retraction itself. Send the event that is true now instead.`,
  event_retracted: ({ eventId }) => `The event ${eventId} was retracted, so it is not sent again.`,
  event_outdated: ({ eventId, outdatedBy }) =>
    `The event ${outdatedBy} has replaced the event ${eventId}, so it is not sent again.`,
  event_just_removed: ({ eventId }) => `The event ${eventId} was just removed. Nothing was changed; send it again.`,
  page_too_large: ({ bytes, limitBytes }) =>
    `This page has ${bytes} bytes, and the limit is ${limitBytes}. Ask for fewer items at a time.`,
  day_too_large: ({ what, limit }) =>
    `The day has more than ${limit} ${what}, too many to sum up at once. Name a networkId, or kinds in events.`,
  sort_too_large: ({ limit }) =>
    `More than ${limit} deliveries have a next attempt, too many to sort by it. Add webhookId, since or until.`,
  page_too_deep: ({ limit }) =>
    `More than ${limit} matches lie before this page, which one request cannot skip. Add or narrow since and until.`,
  webhook_deleted: ({ webhookId }) => `The webhook ${webhookId} was deleted: there is no URL to send to.`,
  webhook_suspended: ({ webhookId }) =>
    `The webhook ${webhookId} is suspended. Resume it, and its held deliveries are sent.`,
  too_many_headers: ({ headers, limit }) =>
    `The endpoint would have ${headers} fixed headers, and the limit is ${limit}. Nothing was changed.`,
  headers_too_large: ({ bytes, limitBytes }) =>
    `The fixed headers of the endpoint would have ${bytes} bytes, and the limit is ${limitBytes}. Nothing was changed.`,
  certificate_without_tls: () =>
    'The URL of the endpoint begins with http://, and only TLS can present a client certificate. Nothing was changed.',
  alerts_off: () => 'Alerts are off: set a notice URL, then send it again.',
  source_limit: ({ limit }) =>
    `An entity has at most ${showCount(limit, 'source')}. Delete one first; the operator can raise ENTITY_SOURCE_LIMIT.`,
  address_limit: ({ limit, setting }) =>
    setting === 'ENTITY_ADDRESS_LIMIT'
      ? `The address books of an entity have at most ${showCount(limit, 'address', 'addresses')}. Remove some first; a removed address counts until its last block is final. The operator can raise ENTITY_ADDRESS_LIMIT.`
      : `The address books on a network have at most ${showCount(limit, 'address', 'addresses')}. The operator can raise CHAIN_ADDRESS_LIMIT.`,
  source_of_invoices: ({ sourceId }) =>
    `The source ${sourceId} belongs to invoices. Paybell deletes it with their last address. You can only resume it.`,
  invoice_limit: ({ limit }) =>
    `An entity has at most ${showCount(limit, 'open invoice')}. Cancel some, or wait until their addresses are no longer watched. The operator can raise ENTITY_INVOICE_LIMIT.`,
  invoice_conflict: ({ reference, invoiceId }) =>
    `The reference ${reference} belongs to ${invoiceId}, which has other terms. To repeat it, send the same terms with the same dateExpires; for a new one, choose another reference. Nothing was created.`,
  address_in_use: ({ invoiceId }) =>
    `The address has the open invoice ${invoiceId} in this token. Use another address, cancel that invoice, or give both match "exact" and different amounts. Nothing was created.`,
  amount_in_use: ({ invoiceId }) =>
    `The address has the open invoice ${invoiceId} of exactly this amount. Use another amount or another address. Nothing was created.`,
  invoice_expiry: ({ earliest, latest }) =>
    `dateExpires must be from ${earliest} to ${latest} in Unix seconds: at least a minute and at most 366 days from now.`,
  invoice_paid: ({ invoiceId }) => `The invoice ${invoiceId} is paid, so it cannot be cancelled. Nothing was changed.`,
  key_limit: ({ limit }) => `An entity has at most ${showCount(limit, 'key')} in force. Revoke one first.`,
  key_not_in_force: () => 'The key is no longer in force. Nothing was changed.',
  key_outlives_its_maker: ({ latest }) =>
    `A key expires no later than the key that creates it, which expires at ${latest}. Nothing was changed.`,
  key_in_use: ({ keyId }) =>
    `The request was sent with the key ${keyId} itself. Confirm that you want to revoke it. Nothing was changed.`,
  last_key: ({ keyId }) =>
    `Without the key ${keyId}, no key of the entity could create another. Create one first. Nothing was changed.`,
  listen_limit: ({ limit }) =>
    `An entity has at most ${showCount(limit, 'listen session')}. End one first. A session without a reader ends by itself ` +
    'within a minute and a half.',
};

/** `1 webhook`, `2 webhooks`. */
export function showCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

export type DomainErrorKind = keyof Facts;
export type FactsOf<Kind extends DomainErrorKind> = Facts[Kind];

export class DomainError<Kind extends DomainErrorKind = DomainErrorKind> extends Error {
  override readonly name = 'DomainError';

  constructor(
    readonly kind: Kind,
    readonly facts: Facts[Kind],
  ) {
    super(SENTENCES[kind](facts));
  }
}
