/** Why an attempt got no answer: the closed list that is stored, shown and documented. */
export const ATTEMPT_ERRORS = [
  /** The attempt as a whole (look-up, connection, answer) did not end within its time. */
  'timeout',
  /** The name of the host could not be resolved. */
  'dns',
  /** The host is, or its name resolves to, an address that is not public, or one of our own machine. */
  'blocked_address',
  /** The URL no longer fulfils the rules, such as http after insecure targets were switched off. */
  'invalid_url',
  /** Nobody listens on that port. */
  'refused',
  /** There is no way to that address from here. */
  'unreachable',
  /** No connection that can be trusted: a bad certificate, another name, no TLS at all. */
  'tls',
  /** The connection broke off before the answer was complete. */
  'reset',
  /** What came back was not an HTTP response, or one beyond all bounds. */
  'bad_response',
  /** It could not even be prepared, and trying again would not help. */
  'unprocessable',
  /** None of the above; the detail says what the runtime called it. */
  'failed',
] as const;

export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** The receiver answered, with whatever status. */
export interface Answered {
  kind: 'answered';
  statusCode: number;
  retryAfter: string | null;
  /** The beginning of the answer's body, fit to be stored and shown. */
  response: string;
  durationMs: number;
}

/** The receiver gave no complete answer, so nothing of one is kept. */
export interface Unanswered {
  kind: 'error';
  error: AttemptError;
  durationMs: number;
  /** A word for the operator, such as the runtime's code. */
  detail?: string;
}

export type Outcome = Answered | Unanswered;
