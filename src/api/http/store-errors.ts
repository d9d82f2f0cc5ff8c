import { type InputError, invalidRequest, Problem, type ProblemCode } from '../../contract/problems.ts';
import { DomainError, type DomainErrorKind, type FactsOf } from '../../domain/errors.ts';
import { StoreUnavailableError, type UnavailableReason } from '../../store/database/database.ts';
import { SecretKeyError } from '../../store/tenants/secret-box.ts';

const STORE_RETRY_AFTER_S = 2;
const BACKLOG_RETRY_AFTER_S = 60;
/** Retention runs every hour. */
const STORAGE_RETRY_AFTER_S = 3_600;

type Mapping<Facts> =
  | {
      readonly code: ProblemCode;
      /** The text for HTTP, if it differs from the sentence of the error. */
      readonly detail?: (facts: Facts) => string;
      readonly retryAfterS?: number;
    }
  | { readonly inputErrors: (facts: Facts) => InputError[] };

const MAPPINGS: { readonly [Kind in DomainErrorKind]: Mapping<FactsOf<Kind>> } = {
  entity_not_found: { code: 'not_found' },
  webhook_changed: {
    code: 'precondition_failed',
    detail: () => 'The webhook is not the one named in If-Match. Read it again first.',
  },
  duplicate_webhook: { code: 'conflict' },
  other_options: { code: 'conflict' },
  filters_too_large: { code: 'conflict' },
  finality_not_allowed: {
    inputErrors: ({ event, isBulk }) => [
      {
        in: 'body',
        name: isBulk ? 'options.finality' : 'finality',
        message: `must be "final" or null for ${event}, which ${isBulk ? 'a matching' : 'this'} webhook is registered for`,
      },
    ],
  },
  too_many_matches: { code: 'too_many_matches' },
  ordered_deliveries_waiting: { code: 'ordered_deliveries_waiting' },
  entity_full: { code: 'webhook_limit' },
  entity_exhausted: { code: 'entity_exhausted' },
  cell_full: { code: 'webhook_limit' },
  secret_limit: {
    code: 'conflict',
    detail: ({ limit }) =>
      `At most ${limit} secrets can be in force. Wait until one expires, or rotate with overlapHours 0.`,
  },
  signing_key_limit: {
    code: 'conflict',
    detail: ({ limit }) =>
      `At most ${limit} signing keys can be in force. Wait until one expires, or rotate with overlapHours 0.`,
  },
  backlog_full: { code: 'backlog_full', retryAfterS: BACKLOG_RETRY_AFTER_S },
  held_limit: { code: 'held_limit', retryAfterS: BACKLOG_RETRY_AFTER_S },
  redeliveries_running: { code: 'rate_limited', retryAfterS: BACKLOG_RETRY_AFTER_S },
  storage_full: { code: 'storage_full', retryAfterS: STORAGE_RETRY_AFTER_S },
  event_conflict: { code: 'event_conflict' },
  retracted_not_found: {
    inputErrors: () => [
      { in: 'body', name: 'retracts.eventId', message: 'must be the id of an event that was accepted before' },
    ],
  },
  already_retracted: { code: 'conflict' },
  retraction_of_retraction: { code: 'conflict' },
  event_retracted: { code: 'event_retracted' },
  event_outdated: { code: 'event_outdated' },
  event_just_removed: { code: 'unavailable', retryAfterS: 1 },
  sort_too_large: {
    inputErrors: ({ limit }) => [
      {
        in: 'query',
        name: 'sortBy',
        message: `cannot be dateNextAttempt here: more than ${limit} deliveries have one. Add webhookId, since or until`,
      },
    ],
  },
  page_too_deep: {
    inputErrors: ({ limit }) => [
      {
        in: 'query',
        name: 'page',
        message: `is too deep with these filters: more than ${limit} matches would have to be skipped. Add or narrow since and until`,
      },
    ],
  },
  page_too_large: {
    inputErrors: ({ bytes, limitBytes }) => [
      {
        in: 'query',
        name: 'limit',
        message: `must be smaller here: this page has ${bytes} bytes, and the limit is ${limitBytes}`,
      },
    ],
  },
  day_too_large: {
    inputErrors: ({ what, limit }) => [
      {
        in: 'query',
        name: 'day',
        message: `has more than ${limit} ${what} with these filters. Name a networkId, or kinds in events`,
      },
    ],
  },
  webhook_deleted: { code: 'conflict' },
  webhook_suspended: { code: 'conflict' },
  too_many_headers: {
    inputErrors: ({ headers, limit }) => [
      {
        in: 'body',
        name: 'headers',
        message: `would give the endpoint ${headers} headers, and the limit is ${limit}; null removes one`,
      },
    ],
  },
  headers_too_large: {
    inputErrors: ({ bytes, limitBytes }) => [
      {
        in: 'body',
        name: 'headers',
        message: `would give the endpoint headers of ${bytes} bytes, and the limit is ${limitBytes}`,
      },
    ],
  },
  certificate_without_tls: {
    inputErrors: () => [
      { in: 'body', name: 'clientCertificate', message: 'needs an endpoint whose postUrl begins with https://' },
    ],
  },
  alerts_off: { code: 'conflict' },
  listen_limit: { code: 'conflict' },
  source_limit: { code: 'source_limit' },
  address_limit: { code: 'address_limit' },
  source_of_invoices: { code: 'conflict' },
  invoice_limit: { code: 'invoice_limit' },
  invoice_conflict: { code: 'invoice_conflict' },
  address_in_use: { code: 'address_in_use' },
  amount_in_use: { code: 'amount_in_use' },
  invoice_expiry: {
    inputErrors: ({ earliest, latest }) => [
      {
        in: 'body',
        name: 'dateExpires',
        message: `must be from ${earliest} to ${latest} in Unix seconds: at least a minute and at most 366 days from now`,
      },
    ],
  },
  invoice_paid: { code: 'invoice_paid' },
  key_limit: { code: 'key_limit' },
  key_not_in_force: { code: 'unauthenticated' },
  key_outlives_its_maker: {
    inputErrors: ({ latest }) => [
      { in: 'body', name: 'dateExpires', message: `must be ${latest} or earlier: this key expires then` },
    ],
  },
  key_in_use: {
    code: 'key_in_use',
    detail: () => 'The request was sent with this key itself. Add self=true to revoke it. Nothing was changed.',
  },
  last_key: {
    code: 'last_key',
    detail: () =>
      'Without this key, no key of the entity could create another. Create one with keys:write first, or add last=true. ' +
      'Nothing was changed.',
  },
};

const UNAVAILABLE_TEXTS: Readonly<Record<UnavailableReason, string>> = {
  disk_full: 'The disk of the database is full. The operator has to free some space. Try again later.',
  read_only: 'The database is read-only. The operator has to make it writable. Try again later.',
  no_answer: 'The store does not respond at the moment. Try again.',
};

/** Translates an error of the store into a problem for the client. Null for any other error. */
export function storeProblem(error: unknown): Problem | null {
  if (error instanceof DomainError) return domainProblem(error);
  // Does not say whether the change was made, because only the response to the commit may be missing.
  if (error instanceof StoreUnavailableError) {
    return unavailable(UNAVAILABLE_TEXTS[error.reason], STORE_RETRY_AFTER_S);
  }
  if (error instanceof SecretKeyError) {
    const detail = 'The signing secrets cannot be opened at the moment. The operator has to check SECRET_KEY.';
    return unavailable(detail, STORE_RETRY_AFTER_S);
  }
  return null;
}

function domainProblem<Kind extends DomainErrorKind>(error: DomainError<Kind>): Problem {
  const mapping: Mapping<FactsOf<Kind>> = MAPPINGS[error.kind];
  if ('inputErrors' in mapping) return invalidRequest(mapping.inputErrors(error.facts));
  const { code, detail, retryAfterS } = mapping;
  return new Problem(code, detail?.(error.facts) ?? error.message, retryAfter(retryAfterS));
}

function unavailable(detail: string, retryAfterS: number): Problem {
  return new Problem('unavailable', detail, retryAfter(retryAfterS));
}

function retryAfter(seconds: number | undefined): { headers?: Record<string, string> } {
  return seconds === undefined ? {} : { headers: { 'retry-after': String(seconds) } };
}
