import type { AttemptError } from '../../domain/attempt.ts';
import { codeOf } from '../error-code.ts';

/** Thrown when an attempt ends without a response, and turned into its outcome by the sender. */
export class AttemptFailure extends Error {
  constructor(
    readonly error: AttemptError,
    readonly detail?: string,
  ) {
    super(error);
  }
}

export function badResponse(detail: string): AttemptFailure {
  return new AttemptFailure('bad_response', detail);
}

/** The codes that connections were seen to fail with, and codes like them. */
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

/** OpenSSL has about forty codes for certificates that cannot be trusted, so they are recognised by their form. */
const CERTIFICATE_CODE =
  /CERT|CRL|^ERR_(TLS|SSL)_|^UNABLE_TO_VERIFY|^(INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;

/** Classifies a thrown value by its code alone, because messages change between releases of the runtime. */
export function failureOf(thrown: unknown): AttemptFailure {
  if (thrown instanceof AttemptFailure) return thrown;
  const code = codeOf(thrown);
  if (code === null) return new AttemptFailure('failed', thrown instanceof Error ? thrown.name : undefined);
  return new AttemptFailure(ERROR_OF_CODE.get(code) ?? (CERTIFICATE_CODE.test(code) ? 'tls' : 'failed'), code);
}

/**
 * If a source address is configured, these codes mean that it cannot be used. Otherwise they are about the receiver.
 */
const SOURCE_CODES: readonly string[] = ['EADDRNOTAVAIL', 'EADDRINUSE'];

/** The failure of a connection from this address, or from any address if it is null. */
export function failureFrom(thrown: unknown, sourceAddress: string | null): AttemptFailure {
  const code = codeOf(thrown);
  const isOfSource = sourceAddress !== null && code !== null && SOURCE_CODES.includes(code);
  return isOfSource ? new AttemptFailure('source_address', code) : failureOf(thrown);
}

/** Whether no connection was made, so that the next address can be tried without sending the request twice. */
export function isNotConnected(thrown: unknown): boolean {
  const { error } = failureOf(thrown);
  return error === 'refused' || error === 'unreachable';
}
