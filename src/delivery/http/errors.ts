import type { AttemptError } from '../../domain/attempt.ts';

/** An attempt that ended without an answer, on its way to becoming an outcome. */
export class AttemptFailure extends Error {
  constructor(
    readonly error: AttemptError,
    readonly detail?: string,
  ) {
    super(error);
  }
}

/** Something came, and it is no answer. */
export function badResponse(detail: string): AttemptFailure {
  return new AttemptFailure('bad_response', detail);
}

/** The codes that connections were seen to fail with, and their neighbours. */
const ERROR_OF_CODE = new Map<string, AttemptError>([
  ['ECONNREFUSED', 'refused'],
  ['ENETUNREACH', 'unreachable'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETDOWN', 'unreachable'],
  ['EHOSTDOWN', 'unreachable'],
  ['EADDRNOTAVAIL', 'unreachable'],
  ['ETIMEDOUT', 'timeout'],
  ['ECONNRESET', 'reset'],
  ['ECONNABORTED', 'reset'],
  ['EPIPE', 'reset'],
  ['EPROTO', 'tls'],
]);

/** OpenSSL has some forty codes for a certificate that does not hold, so these are told by their shape. */
const CERTIFICATE_CODE =
  /CERT|CRL|^ERR_(TLS|SSL)_|^UNABLE_TO_VERIFY|^(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;

/** What a thrown value means, by its code alone: the message is for people and changes between releases. */
export function failureOf(thrown: unknown): AttemptFailure {
  if (thrown instanceof AttemptFailure) return thrown;
  const code = codeOf(thrown);
  if (code === null) return new AttemptFailure('failed', thrown instanceof Error ? thrown.name : undefined);
  return new AttemptFailure(ERROR_OF_CODE.get(code) ?? (CERTIFICATE_CODE.test(code) ? 'tls' : 'failed'), code);
}

/** Whether no connection was made, so that another address can be tried without posting twice. */
export function isUnconnected(thrown: unknown): boolean {
  const { error } = failureOf(thrown);
  return error === 'refused' || error === 'unreachable';
}

function codeOf(thrown: unknown): string | null {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : null;
}
