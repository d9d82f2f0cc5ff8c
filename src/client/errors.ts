import type { InputError, ProblemCode } from './types.ts';

/** Whatever goes wrong between this program and the service; what an abort throws is the caller's own reason. */
export class PaybellError extends Error {
  override readonly name: string = 'PaybellError';
}

/** A code of the catalogue, or one that a newer service has added. */
export type ErrorCode = ProblemCode | 'unexpected_answer' | (string & {});

type ProblemFields = {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  requestId: string | null;
  errors?: readonly InputError[];
};

/** The service refused: the fields of its problem (RFC 9457), or what can be said of an answer that has none. */
export class ProblemError extends PaybellError {
  override readonly name = 'ProblemError';
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable, for programs; `unexpected_answer` when something other than Paybell answered. */
  readonly code: ErrorCode;
  /** Name it when you ask for help. */
  readonly requestId: string | null;
  /** Every input that was at fault. */
  readonly errors: readonly InputError[];
  /** How long the service asks to wait before the next try; null when it does not say. */
  readonly retryAfterS: number | null;

  constructor(
    { type, title, status, detail, code, requestId, errors = [] }: ProblemFields,
    retryAfterS: number | null,
  ) {
    const faults = errors.map((fault) => ` ${fault.in} ${fault.name} ${fault.message}.`).join('');
    super(`${status} ${code}: ${detail}${faults}`);
    this.type = type;
    this.title = title;
    this.status = status;
    this.detail = detail;
    this.code = code;
    this.requestId = requestId;
    this.errors = errors;
    this.retryAfterS = retryAfterS;
  }
}

/** No answer came: refused, cut, no such host. `cause` is what `fetch` said. */
export class ConnectionError extends PaybellError {
  override readonly name = 'ConnectionError';
}

/** No whole answer came within the time limit. */
export class TimeLimitError extends PaybellError {
  override readonly name = 'TimeLimitError';
}

/** Reads the body once; what is no problem of Paybell's (a proxy's page, say) still becomes an error with a status. */
export async function problemIn(response: Response): Promise<ProblemError> {
  const text = await response.text();
  const retryAfterS = retryAfterOf(response.headers.get('retry-after'));
  const fields = response.headers.get('content-type')?.startsWith('application/problem+json') ? asFields(text) : null;
  return new ProblemError(fields ?? unexpected(response, text), retryAfterS);
}

const MAX_SHOWN = 200;

function unexpected(response: Response, text: string): ProblemFields {
  const shown = text.replace(/\s+/g, ' ').trim().slice(0, MAX_SHOWN);
  return {
    type: 'about:blank',
    title: response.statusText,
    status: response.status,
    detail: `The answer is not one of Paybell's; is the URL right?${shown === '' ? '' : ` It begins: ${shown}`}`,
    code: 'unexpected_answer',
    requestId: response.headers.get('x-request-id'),
  };
}

function asFields(text: string): ProblemFields | null {
  try {
    return JSON.parse(text) as ProblemFields;
  } catch {
    return null;
  }
}

/** Seconds or a date, as RFC 9110 has it. */
function retryAfterOf(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const untilMs = Date.parse(header) - Date.now();
  return Number.isNaN(untilMs) ? null : Math.max(0, Math.ceil(untilMs / 1000));
}
