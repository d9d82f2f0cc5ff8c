import type { OperatorScope } from '../domain/keys/operator-keys.ts';

/**
 * Every error that a response can contain. Programs rely on the codes, so a code never changes its meaning; titles are
 * for people. `docs/errors.md` lists the same codes, and a test compares the two.
 */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'Invalid request' },
  malformed_host: { status: 400, title: 'Malformed Host header' },
  invalid_json: { status: 400, title: 'Invalid JSON' },
  incomplete_body: { status: 400, title: 'Incomplete body' },
  unauthenticated: { status: 401, title: 'Authentication failed' },
  wrong_entity: { status: 403, title: 'The key belongs to another entity' },
  missing_permission: { status: 403, title: 'Missing permission' },
  not_found: { status: 404, title: 'Not found' },
  transaction_not_found: { status: 404, title: 'The transaction does not exist' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'Conflict' },
  webhook_limit: { status: 409, title: 'Too many webhooks' },
  entity_exhausted: { status: 409, title: 'The entity takes no new webhooks' },
  too_many_matches: { status: 409, title: 'Too many matches' },
  ordered_deliveries_waiting: { status: 409, title: 'Ordered deliveries are waiting' },
  event_conflict: { status: 409, title: 'Event id already used' },
  source_limit: { status: 409, title: 'Too many sources' },
  address_limit: { status: 409, title: 'Too many addresses' },
  invoice_limit: { status: 409, title: 'Too many open invoices' },
  invoice_conflict: { status: 409, title: 'Reference already used' },
  address_in_use: { status: 409, title: 'The address has an open invoice' },
  amount_in_use: { status: 409, title: 'The amount has an open invoice' },
  invoice_paid: { status: 409, title: 'The invoice is paid' },
  token_unknown: { status: 409, title: 'The token is unknown' },
  key_limit: { status: 409, title: 'Too many keys' },
  key_in_use: { status: 409, title: 'The key is in use' },
  last_key: { status: 409, title: 'The last key' },
  network_not_followed: { status: 409, title: 'The network is not followed' },
  transaction_pending: { status: 409, title: 'The transaction is not in a block yet' },
  event_retracted: { status: 409, title: 'Event was retracted' },
  event_outdated: { status: 409, title: 'Event is outdated' },
  precondition_failed: { status: 412, title: 'Precondition failed' },
  body_too_large: { status: 413, title: 'Body too large' },
  url_too_long: { status: 414, title: 'URL too long' },
  unsupported_media_type: { status: 415, title: 'Unsupported content type' },
  rate_limited: { status: 429, title: 'Too many requests' },
  backlog_full: { status: 429, title: 'Too many waiting deliveries' },
  held_limit: { status: 429, title: 'Too many held events' },
  storage_full: { status: 429, title: 'Storage limit reached' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
  network_unavailable: { status: 503, title: 'No node of the network responds' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid input: where it is, its name, and how to fix it. */
export type InputError = { in: 'query' | 'path' | 'header' | 'body'; name: string; message: string };

type Extra = {
  readonly errors?: readonly InputError[];
  /** The permission that the key does not have. */
  readonly permission?: OperatorScope;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Thrown by a route or below it, and sent as RFC 9457. Its texts are public, so they contain nothing internal. */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    readonly extra: Extra = {},
  ) {
    super(detail);
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** A body can have 100,000 invalid fields. A response many times its size would help no client. */
export const MAX_INPUT_ERRORS_SHOWN = 100;

export function invalidRequest(errors: readonly InputError[]): Problem {
  const count = errors.length === 1 ? 'One input is' : `${errors.length} inputs are`;
  const shown = errors.length > MAX_INPUT_ERRORS_SHOWN ? `the first ${MAX_INPUT_ERRORS_SHOWN}` : 'each';
  return new Problem('invalid_request', `${count} invalid; errors names ${shown} and says how to fix it.`, {
    errors: errors.slice(0, MAX_INPUT_ERRORS_SHOWN),
  });
}
