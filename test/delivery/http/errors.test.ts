import { describe, expect, test } from 'bun:test';
import { AttemptFailure, failureOf, isNotConnected } from '../../../src/delivery/http/errors.ts';

function thrownWith(code: unknown): Error {
  return Object.assign(new TypeError('a text that must not matter: ECONNREFUSED'), { code });
}

describe('a thrown value', () => {
  test.each([
    ['ECONNREFUSED', 'refused'],
    ['EHOSTUNREACH', 'unreachable'],
    ['ECONNRESET', 'reset'],
    ['EPROTO', 'tls'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['CERT_NOT_YET_VALID', 'tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
    ['HOSTNAME_MISMATCH', 'tls'],
    ['SOMETHING_NEW', 'failed'],
  ] as const)('with the code %s is %s, and keeps its code as the detail', (code, error) => {
    expect(failureOf(thrownWith(code))).toMatchObject({ error, detail: code });
  });

  test.each([thrownWith(undefined), thrownWith(23), 'ECONNREFUSED', null, undefined])(
    'without a code has failed, whatever its text says: %p',
    (thrown) => {
      expect(failureOf(thrown).error).toBe('failed');
    },
  );

  test('that is a failure already stays what it is', () => {
    const failure = new AttemptFailure('blocked_address');
    expect(failureOf(failure)).toBe(failure);
  });

  test('means that nothing was sent only when no connection was made', () => {
    expect(['ECONNREFUSED', 'ENETUNREACH', 'EADDRNOTAVAIL'].every((code) => isNotConnected(thrownWith(code)))).toBe(
      true,
    );
    expect(['ECONNRESET', 'EPROTO', 'EPIPE', 'X'].some((code) => isNotConnected(thrownWith(code)))).toBe(false);
  });
});
