/**
 * The catalogue of everything that can go wrong in an answer. A code is a promise to programs and never changes its
 * meaning; the title is for people. `docs/errors.md` lists the same codes, and a test holds it to this file.
 */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'The request has faults' },
  malformed_host: { status: 400, title: 'The Host header is malformed' },
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  incomplete_body: { status: 400, title: 'The body is not complete' },
  unauthenticated: { status: 401, title: 'Authentication failed' },
  wrong_entity: { status: 403, title: 'The key does not belong to this entity' },
  missing_permission: { status: 403, title: 'The key lacks a permission' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'Conflict with what is stored' },
  webhook_limit: { status: 409, title: 'Too many webhooks' },
  too_many_matches: { status: 409, title: 'Too many matches for one request' },
  event_conflict: { status: 409, title: 'The event id is taken by another body' },
  precondition_failed: { status: 412, title: 'The resource has changed' },
  body_too_large: { status: 413, title: 'The body is too large' },
  url_too_long: { status: 414, title: 'The URL is too long' },
  unsupported_media_type: { status: 415, title: 'Unsupported content type' },
  rate_limited: { status: 429, title: 'Too many requests' },
  backlog_full: { status: 429, title: 'Too much is waiting to be delivered' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One fault of one input: where it stands, its name, and how to mend it. */
export type InputError = { in: 'query' | 'path' | 'header' | 'body'; name: string; message: string };

/** Thrown anywhere below a route and answered as RFC 9457; its texts are public, so nothing internal goes in. */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    readonly extra: { errors?: readonly InputError[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail);
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** A body can hold a hundred thousand faults, and an answer many times its size helps nobody. */
export const MAX_INPUT_ERRORS_SHOWN = 100;

export function invalidRequest(errors: readonly InputError[]): Problem {
  const count = errors.length === 1 ? 'One input is' : `${errors.length} inputs are`;
  const which = errors.length > MAX_INPUT_ERRORS_SHOWN ? `which the first ${MAX_INPUT_ERRORS_SHOWN} are` : 'which';
  return new Problem('invalid_request', `${count} at fault; errors says ${which} and how to mend it.`, {
    errors: errors.slice(0, MAX_INPUT_ERRORS_SHOWN),
  });
}
