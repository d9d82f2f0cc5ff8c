import { describe, expect, test } from 'bun:test';
import { createHmac, createPublicKey, verify as verifyEd25519 } from 'node:crypto';
import fc from 'fast-check';
import { sampleEvent, sampleRetraction } from '../../src/contract/events/samples.ts';
import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import { makeSecret, makeSigningKey, sign } from '../../src/domain/signing.ts';
import type { EventsByKind, PaybellEvent } from '../../src/verify/events.ts';
import type { ReceivedHeaders } from '../../src/verify/headers.ts';
import { publicKeysOf } from '../../src/verify/key-set.ts';
import { VerificationError } from '../../src/verify/verification-error.ts';
import { type RawBody, type VerifyOptions, verify } from '../../src/verify/verify.ts';
import { rejection } from '../support/rejection.ts';

const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const NOW_S = 1_614_265_330;
const BODY = '{"test": 2432232314}';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const V1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const SIGNING_KEY = 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==';
const V1A = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==';
const { publicKey: PUBLIC_KEY } = makeSigningKey(Buffer.from(SIGNING_KEY.slice(5), 'base64').subarray(0, 32));
const OTHER_SECRET = makeSecret(new Uint8Array(32).fill(7));
const EVENT = JSON.stringify({ event: 'LatePayment', networkId: 1, note: 'Ünïcödé 💶' });

const headersOf = (signature: string, timestamp = String(NOW_S), id = ID) => ({
  'webhook-id': id,
  'webhook-timestamp': timestamp,
  'webhook-signature': signature,
});

const signed = (body: string, secrets: readonly string[] = [SECRET]) =>
  headersOf(sign({ id: ID, timestampS: NOW_S, body, secrets, signingKeys: [SIGNING_KEY] }));

/** The error that `verify` throws; fails when it throws none. */
async function errorOf(
  body: unknown,
  headers: ReceivedHeaders,
  keys: string | readonly string[] = SECRET,
  options: VerifyOptions = {},
) {
  const error = await verify(body as RawBody, headers, keys, { nowS: NOW_S, ...options }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(VerificationError);
  return error as VerificationError;
}

describe('a signed request', () => {
  test('returns its event, whether the body is text, bytes or a buffer', async () => {
    const bytes = new TextEncoder().encode(EVENT);
    for (const body of [EVENT, bytes, Buffer.from(EVENT), bytes.buffer]) {
      expect<object>(await verify(body, signed(EVENT), SECRET, { nowS: NOW_S })).toMatchObject({ note: 'Ünïcödé 💶' });
    }
  });

  test('is verified with any secret in force, with the public key, and with both', async () => {
    const headers = signed(EVENT, [OTHER_SECRET, SECRET]);
    for (const keys of [SECRET, [SECRET], [OTHER_SECRET, SECRET], PUBLIC_KEY, [OTHER_SECRET, PUBLIC_KEY]]) {
      expect((await verify(EVENT, headers, keys, { nowS: NOW_S })).event).toBe('LatePayment');
    }
  });

  test('is verified with the headers of fetch and of Node, in any case', async () => {
    const headers = signed(EVENT);
    const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    for (const given of [headers, shouted, new Headers(headers)]) {
      expect((await verify(EVENT, given, SECRET, { nowS: NOW_S })).event).toBe('LatePayment');
    }
  });

  test('matches the published test vectors, whose bodies are not events', async () => {
    expect((await errorOf(BODY, headersOf(V1))).reason).toBe('not_an_event');
    expect((await errorOf(BODY, headersOf(V1A), PUBLIC_KEY)).reason).toBe('not_an_event');
  });

  test('is verified up to the tolerance and not a second beyond', async () => {
    const headers = signed(EVENT);
    for (const nowS of [NOW_S - 300, NOW_S + 300]) {
      expect((await verify(EVENT, headers, SECRET, { nowS })).event).toBe('LatePayment');
    }
    expect((await errorOf(EVENT, headers, SECRET, { nowS: NOW_S + 301 })).reason).toBe('too_old');
    expect((await errorOf(EVENT, headers, SECRET, { nowS: NOW_S - 301 })).reason).toBe('too_new');
    expect((await errorOf(EVENT, headers, SECRET, { nowS: NOW_S + 2, toleranceS: 1 })).reason).toBe('too_old');
  });

  test.each([{ toleranceS: Number.NaN }, { toleranceS: -1 }, { nowS: Number.NaN }])(
    'is not switched off by a setting that is no number: %j',
    async (options) => {
      const old = { nowS: NOW_S + 86_400, ...options };
      expect(await rejection(verify(EVENT, signed(EVENT), SECRET, old))).toBeInstanceOf(RangeError);
    },
  );
});

describe('an error names what is wrong:', () => {
  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('%s is missing', async (name) => {
    for (const value of [undefined, '']) {
      const error = await errorOf(EVENT, { ...signed(EVENT), [name]: value });
      expect(error).toMatchObject({ reason: 'missing_header', status: 400 });
      expect(error.message).toContain(name);
    }
  });

  test.each([
    ['a timestamp that is not a number', headersOf(V1, 'yesterday')],
    ['a timestamp with a fraction', headersOf(V1, '1614265330.5')],
    ['an id with a dot, whose end could pass for a timestamp', headersOf(V1, undefined, 'msg.1')],
    ['too many signatures', headersOf(Array.from({ length: 33 }, () => V1).join(' '))],
    ['a header that occurs twice', { ...headersOf(V1), 'webhook-id': [ID, ID] }],
  ])('%s', async (_, headers) => {
    expect(await errorOf(EVENT, headers)).toMatchObject({ reason: 'malformed_header', status: 400 });
  });

  test('another secret, or a body that was changed by one character', async () => {
    expect(await errorOf(EVENT, signed(EVENT), OTHER_SECRET)).toMatchObject({ reason: 'no_match', status: 401 });
    expect((await errorOf(`${EVENT} `, signed(EVENT))).reason).toBe('no_match');
    expect((await errorOf(EVENT, signed(EVENT, [OTHER_SECRET]), SECRET)).reason).toBe('no_match');
    expect((await errorOf(EVENT, { ...signed(EVENT), 'webhook-id': 'msg_other' })).reason).toBe('no_match');
  });

  test('a body that the framework has parsed', async () => {
    for (const body of [JSON.parse(EVENT), undefined, null, 5]) {
      expect(await errorOf(body, signed(EVENT))).toMatchObject({ reason: 'parsed_body', status: 500 });
    }
  });

  test('keys of one kind for a signature of the other', async () => {
    const onlySecret = headersOf(sign({ id: ID, timestampS: NOW_S, body: EVENT, secrets: [SECRET] }));
    const error = await errorOf(EVENT, onlySecret, PUBLIC_KEY);
    expect(error.reason).toBe('no_common_scheme');
    expect(error.message).toContain('it is v1; the keys check v1a');
    expect((await errorOf(EVENT, headersOf('<script>,x'))).message).not.toContain('script');
  });

  test.each([
    ['an empty secret', 'whsec_'],
    ['a short secret', `whsec_${btoa('too short')}`],
    ['a secret that is not base64', 'whsec_!!!!'],
    ['base64 with a loose end', `${SECRET}=`],
    ['an api key', 'pbk_0123456789'],
    ['a public key of the wrong length', `whpk_${btoa('short')}`],
    ['the signing key itself', SIGNING_KEY],
  ])('%s is not a key, and the message does not contain it', async (_, key) => {
    const error = await errorOf(EVENT, signed(EVENT), key);
    expect(error).toMatchObject({ reason: 'malformed_key', status: 500 });
    if (key.length > 10) expect(error.message).not.toContain(key.slice(6));
  });

  test('no key at all', async () => {
    expect((await errorOf(EVENT, signed(EVENT), [])).reason).toBe('malformed_key');
  });

  test.each(['[]', 'null', '"text"', 'no json', '{"networkId":1}', '{"event":5}'])(
    '%s is not an event',
    async (body) => {
      expect(await errorOf(body, signed(body))).toMatchObject({ reason: 'not_an_event', status: 400 });
    },
  );
});

/** The rules of Standard Webhooks, written a second time with node:crypto. */
function isValid(id: string, timestamp: string, signature: string, body: string, keys: readonly string[]): boolean {
  if (id === '' || id.includes('.') || !/^\d{1,15}$/.test(timestamp)) return false;
  if (Math.abs(NOW_S - Number(timestamp)) > 300) return false;
  const signed = Buffer.from(`${id}.${timestamp}.${body}`);
  const isSignedWith = (key: string, given: string) => {
    const bytes = Buffer.from(key.slice(key.indexOf('_') + 1), 'base64');
    if (key.startsWith('whsec_')) return given === `v1,${createHmac('sha256', bytes).update(signed).digest('base64')}`;
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') };
    const given64 = given.startsWith('v1a,') ? given.slice('v1a,'.length) : '';
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    return verifyEd25519(null, signed, publicKey, Buffer.from(given64, 'base64'));
  };
  return signature.split(' ').some((given) => keys.some((key) => isSignedWith(key, given)));
}

test('verify follows the rules of Standard Webhooks for every header, body and key', async () => {
  const signature = fc.constantFrom(V1, V1A, 'v1,', 'v1a,AAAA', 'v2,x', `${V1} ${V1A}`, `${V1}=`, '', 'v1,====');
  const timestamp = fc.constantFrom(String(NOW_S), String(NOW_S - 300), String(NOW_S - 301), '', 'x', '-1', '1e9');
  const id = fc.constantFrom(ID, '', 'a.b', 'other');
  const body = fc.constantFrom(BODY, `${BODY} `, '');
  const keys = fc.constantFrom([SECRET], [OTHER_SECRET, SECRET], [PUBLIC_KEY], [SECRET, PUBLIC_KEY]);
  await fc.assert(
    fc.asyncProperty(id, timestamp, signature, body, keys, async (id, timestamp, signature, body, keys) => {
      const { reason } = await errorOf(body, headersOf(signature, timestamp, id), keys);
      // None of these bodies is an event, so `not_an_event` means that every check of the signature has passed.
      const expected = isValid(id, timestamp, signature, body, keys);
      expect({ isVerified: reason === 'not_an_event', reason }).toMatchObject({ isVerified: expected });
    }),
    { numRuns: 500 },
  );
});

describe('the type of an event', () => {
  /** Compiles only while `event` tells the payloads apart. */
  function amountOf(event: PaybellEvent): string {
    switch (event.event) {
      case 'TransferFinalized':
        return `${event.amount} in ${event.transactionHash} after ${event.confirmations.toFixed()}`;
      case 'LatePayment':
        return `${event.amount}, ${event.daysLate.toFixed()} days late`;
      case 'EventRetracted':
        return `nothing: ${event.retracts.eventId} is taken back (${event.reason})`;
      case 'endpoint.failing':
        return `none: ${event.endpoint.postUrl} until ${event.dateSuspension.toFixed()}`;
      case 'endpoint.recovered':
        return `all: ${event.endpoint.postUrl} since ${event.dateRecovered.toFixed()}`;
      case 'webhook.suspended':
        return `none: ${event.webhook.postUrl} is ${event.reason}`;
      default:
        return 'another';
    }
  }

  test('is told by its name, with the fields of the samples', async () => {
    const sample = JSON.stringify(sampleEvent('LatePayment', 8453, 'evt_1', NOW_S));
    expect(amountOf(await verify(sample, signed(sample), SECRET, { nowS: NOW_S }))).toBe('25.00, 1 days late');
    const retraction = JSON.stringify(sampleRetraction(8453, 'evt_2', 'evt_1', NOW_S));
    expect(amountOf(await verify(retraction, signed(retraction), SECRET, { nowS: NOW_S }))).toBe(
      'nothing: evt_1 is taken back (reorg)',
    );
    const other = '{"event":"RefundIssued","networkId":1}';
    expect(amountOf(await verify(other, signed(other), SECRET, { nowS: NOW_S }))).toBe('another');
  });

  test('covers the seven kinds, the retraction of one of them, and the alerts', () => {
    const kinds = {
      ...Object.fromEntries(EVENT_KINDS.map((kind) => [kind, true])),
      EventRetracted: true,
      'webhook.suspended': true,
      'endpoint.failing': true,
      'endpoint.recovered': true,
    };
    const typed: Record<keyof EventsByKind, true> = {
      AgreementSignedUp: true,
      AgreementCancelled: true,
      ScheduledAgreementCancel: true,
      TransferProcessed: true,
      TransferCreated: true,
      TransferFinalized: true,
      LatePayment: true,
      EventRetracted: true,
      'webhook.suspended': true,
      'endpoint.failing': true,
      'endpoint.recovered': true,
    };
    expect<Record<string, boolean>>(typed).toEqual(kinds);
  });
});

describe('a published key set', () => {
  const x = Buffer.from(PUBLIC_KEY.slice(5), 'base64').toString('base64url');

  test('has the keys that verify takes', async () => {
    const keys = publicKeysOf({ keys: [{ kty: 'OKP', crv: 'Ed25519', x }] });
    expect(keys).toEqual([PUBLIC_KEY]);
    expect((await errorOf(BODY, headersOf(V1A), keys)).reason).toBe('not_an_event');
  });

  test('may have keys of other kinds, which are left out', () => {
    const others = [
      { kty: 'RSA' },
      { kty: 'OKP', crv: 'X25519', x },
      { kty: 'EC', crv: 'P-256', x },
      { kty: 'OKP', crv: 'Ed25519' },
    ];
    expect(publicKeysOf({ keys: others })).toEqual([]);
  });
});
