import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { makeSecret, makeSigningKey } from '../../src/domain/signing.ts';
import { checkSequence } from '../../src/verify/check-sequence.ts';
import type { ReceivedHeaders } from '../../src/verify/headers.ts';
import { VerificationError } from '../../src/verify/verification-error.ts';

const SECRET = makeSecret(new Uint8Array(32).fill(1));
const OTHER_SECRET = makeSecret(new Uint8Array(32).fill(2));
const { publicKey: PUBLIC_KEY } = makeSigningKey(new Uint8Array(32).fill(3));
const DELIVERY = 'dlv_0190b2a1c3d4700080001122334455aa';
const ENDPOINT = 'ep_1a2b3c';

/** As the documentation says it, without the code of the service. */
function signatureOf(secret: string, id: string, endpointId: string, sequence: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${endpointId}.${sequence}`).digest('base64')}`;
}

function headersOf(sequence = '42', secrets: readonly string[] = [SECRET]): Record<string, string> {
  return {
    'webhook-id': DELIVERY,
    'paybell-endpoint': ENDPOINT,
    'paybell-sequence': sequence,
    'paybell-sequence-signature': secrets.map((secret) => signatureOf(secret, DELIVERY, ENDPOINT, sequence)).join(' '),
  };
}

async function reasonOf(headers: ReceivedHeaders, keys: string | readonly string[] = SECRET): Promise<string> {
  const error = await checkSequence(headers, keys).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(VerificationError);
  return (error as VerificationError).reason;
}

describe('the number of a request', () => {
  test('is returned with its endpoint and its delivery, whichever secret in force signed it', async () => {
    const expected = { endpointId: ENDPOINT, sequence: 42, deliveryId: DELIVERY };
    expect(await checkSequence(headersOf(), SECRET)).toEqual(expected);
    expect(await checkSequence(new Headers(headersOf('42', [OTHER_SECRET, SECRET])), SECRET)).toEqual(expected);
    expect(await checkSequence(headersOf(), [OTHER_SECRET, PUBLIC_KEY, SECRET])).toEqual(expected);
  });

  test('is null for a request without one', async () => {
    expect(await checkSequence({ 'webhook-id': DELIVERY }, SECRET)).toBeNull();
    expect(await checkSequence(new Headers(), SECRET)).toBeNull();
  });

  test('fails if it, its endpoint or its delivery was changed', async () => {
    const changed = fc.record({
      'paybell-sequence': fc.integer({ min: 1, max: 2 ** 40 }).map(String),
      'paybell-endpoint': fc.constantFrom(ENDPOINT, 'ep_1a2b3d', 'ep_'),
      'webhook-id': fc.constantFrom(DELIVERY, `${DELIVERY}a`, 'dlv_'),
    });
    await fc.assert(
      fc.asyncProperty(changed, async (change) => {
        const headers = { ...headersOf(), ...change };
        const isChanged = Object.entries(headersOf()).some(([name, value]) => headers[name as never] !== value);
        if (isChanged) expect(await reasonOf(headers)).toBe('no_match');
      }),
    );
  });

  test('fails with the secret of another entity, and with public keys alone', async () => {
    expect(await reasonOf(headersOf(), OTHER_SECRET)).toBe('no_match');
    expect(await reasonOf(headersOf(), PUBLIC_KEY)).toBe('no_common_scheme');
    expect(await reasonOf(headersOf(), [])).toBe('malformed_key');
  });

  test('fails if one of its three headers is missing or malformed', async () => {
    for (const name of ['webhook-id', 'paybell-endpoint', 'paybell-sequence', 'paybell-sequence-signature']) {
      expect(await reasonOf({ ...headersOf(), [name]: '' })).toBe('missing_header');
      expect(await reasonOf({ ...headersOf(), [name]: ['a', 'b'] })).toBe('malformed_header');
    }
    for (const sequence of ['0', '-1', '042', '4.2', '4e2', ' 42', '9007199254740992', '99999999999999999']) {
      expect(await reasonOf(headersOf(sequence))).toBe('malformed_header');
    }
    expect(await reasonOf({ ...headersOf(), 'paybell-endpoint': 'ep_1.42' })).toBe('malformed_header');
    expect(await reasonOf(headersOf('42', Array(33).fill(SECRET)))).toBe('malformed_header');
  });
});
