import type { PROBLEMS } from '../contract/problems.ts';

/** Every error of the client, except that an aborted call throws the reason of the caller's own signal. */
export class PaybellError extends Error {
  override readonly name: string = 'PaybellError';
}

/** The kind of problem, for programs; stable. */
export type ProblemCode = keyof typeof PROBLEMS;

/** A code of the catalogue, or one that a newer service has added. */
export type ErrorCode = ProblemCode | 'unexpected_answer' | (string & {});

/** One invalid input: where it is, its name, and how to fix it. */
export type Fault = { in: 'query' | 'path' | 'header' | 'body'; name: string; message: string };

type ProblemFields = {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  requestId: string | null;
  errors?: readonly Fault[];
  permission?: string;
};

/** The service refused the request: the fields of its problem (RFC 9457). */
export class ProblemError extends PaybellError {
  override readonly name = 'ProblemError';
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable, for programs; `unexpected_answer` when the response did not come from Paybell. */
  readonly code: ErrorCode;
  /** Include it when you ask for help. */
  readonly requestId: string | null;
  /** Every invalid input. */
  readonly errors: readonly Fault[];
  /** The permission that the key needs; null unless the code is `missing_permission`. */
  readonly permission: string | null;
  /** How long the service asks to wait before the next attempt; null when it does not say. */
  readonly retryAfterS: number | null;

  constructor(
    { type, title, status, detail, code, requestId, errors = [], permission }: ProblemFields,
    retryAfterS: number | null,
  ) {
    const inputs = errors.map((error) => ` ${error.in} ${error.name} ${error.message}.`).join('');
    super(`${status} ${code}: ${detail}${inputs}`);
    this.type = type;
    this.title = title;
    this.status = status;
    this.detail = detail;
    this.code = code;
    this.requestId = requestId;
    this.errors = errors;
    this.permission = permission ?? null;
    this.retryAfterS = retryAfterS;
  }
}

/** No response came: connection refused, connection reset, unknown host. `cause` is the error of `fetch`. */
export class ConnectionError extends PaybellError {
  override readonly name = 'ConnectionError';
}

/** No complete response came within the time limit. */
export class TimeLimitError extends PaybellError {
  override readonly name = 'TimeLimitError';
}

/** The problem in a response. A response that is not Paybell's, such as the error page of a proxy, keeps its status. */
export async function readProblem(response: Response): Promise<ProblemError> {
  const text = await response.text();
  const retryAfterS = parseRetryAfter(response.headers.get('retry-after'));
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') ?? false;
  return new ProblemError((isProblem ? parseProblem(text) : null) ?? unexpected(response, text), retryAfterS);
}

const MAX_SHOWN = 200;

function unexpected(response: Response, text: string): ProblemFields {
  const shown = text.replace(/\s+/g, ' ').trim().slice(0, MAX_SHOWN);
  return {
    type: 'about:blank',
    title: response.statusText,
    status: response.status,
    detail: `The response did not come from Paybell; check the URL.${shown === '' ? '' : ` It begins: ${shown}`}`,
    code: 'unexpected_answer',
    requestId: response.headers.get('x-request-id'),
  };
}

function parseProblem(text: string): ProblemFields | null {
  try {
    const value: unknown = JSON.parse(text);
    return isProblem(value) ? value : null;
  } catch {
    return null;
  }
}

/** A proxy may answer with its own problem, which has other members. */
function isProblem(value: unknown): value is ProblemFields {
  if (typeof value !== 'object' || value === null) return false;
  const problem: Partial<Record<keyof ProblemFields, unknown>> = value;
  const texts = [problem.type, problem.title, problem.detail, problem.code];
  return (
    texts.every((text) => typeof text === 'string') &&
    typeof problem.status === 'number' &&
    (problem.requestId === null || typeof problem.requestId === 'string') &&
    (problem.errors === undefined || Array.isArray(problem.errors)) &&
    (problem.permission === undefined || typeof problem.permission === 'string')
  );
}

/** Seconds or a date (RFC 9110). */
function parseRetryAfter(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const untilMs = Date.parse(header) - Date.now();
  return Number.isNaN(untilMs) ? null : Math.max(0, Math.ceil(untilMs / 1000));
}

/** Numbers of an endpoint, both ends included. */
export type RemovedNumbers = { readonly first: number; readonly last: number };

/** Retention has deleted deliveries that were not read yet. `RETENTION` of the server says how long they are kept. */
export class RemovedNumbersError extends PaybellError {
  override readonly name = 'RemovedNumbersError';

  constructor(readonly removed: RemovedNumbers) {
    super(`the numbers ${removed.first} to ${removed.last} were deleted by retention before they were read`);
  }
}
