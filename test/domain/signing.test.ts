import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import {
  bodySignature,
  makeSecret,
  makeSigningKey,
  parseKeys,
  parseSecret,
  parseSigningKey,
  sign,
  signWith,
  type VerifyInput,
  verify,
} from '../../src/domain/signing.ts';

const VECTOR = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampS: 1614265330, body: '{"test": 2432232314}' };
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SIGNING_KEY = 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==';
const V1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const V1A = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==';
const PUBLIC_KEY = makeSigningKey(Buffer.from(SIGNING_KEY.slice(5), 'base64').subarray(0, 32)).publicKey;
const OTHER_SECRET = makeSecret(new Uint8Array(32).fill(7));

function verifyVector(changes: Partial<VerifyInput['headers']> & Partial<Omit<VerifyInput, 'headers'>> = {}) {
  const { id, timestamp, signature, ...rest } = changes;
  return verify({
    headers: {
      id: 'id' in changes ? id : VECTOR.id,
      timestamp: 'timestamp' in changes ? timestamp : String(VECTOR.timestampS),
      signature: 'signature' in changes ? signature : V1,
    },
    body: VECTOR.body,
    secrets: [SECRET],
    nowS: VECTOR.timestampS,
    ...rest,
  });
}

describe('a signature', () => {
  test('of the published vector is the published v1', () => {
    expect(sign({ ...VECTOR, secrets: [SECRET] })).toBe(V1);
  });

  test('of the published vector is the published v1a', () => {
    expect(sign({ ...VECTOR, secrets: [], signingKey: SIGNING_KEY })).toBe(V1A);
  });

  test('lists every secret in order and then the signing key', () => {
    const both = sign({ ...VECTOR, secrets: [OTHER_SECRET, SECRET], signingKey: SIGNING_KEY });
    expect(both).toBe(`${sign({ ...VECTOR, secrets: [OTHER_SECRET] })} ${V1} ${V1A}`);
  });

  test('is the same for a body as text and as bytes, and for keys parsed before', () => {
    const body = '{"note":"Ünïcödé 💶"}';
    const asText = sign({ ...VECTOR, body, secrets: [SECRET], signingKey: SIGNING_KEY });
    expect(signWith(parseKeys([SECRET], SIGNING_KEY), { ...VECTOR, body: Buffer.from(body) })).toBe(asText);
  });

  test.each([
    ['an empty id', { id: '' }],
    ['an id with a dot', { id: 'msg.1' }],
    ['a fraction of a second', { timestampS: 1.5 }],
    ['a negative time', { timestampS: -1 }],
    ['no time', { timestampS: Number.NaN }],
  ])('is not made for %s', (_, change) => {
    expect(() => sign({ ...VECTOR, ...change, secrets: [SECRET] })).toThrow(TypeError);
  });
});

describe('receivers with other libraries', () => {
  const nowS = Math.floor(Date.now() / 1000);
  const body = '{"event":"TransferProcessed","amount":123456789012345678901234567890}';
  const headers = {
    'webhook-id': 'dlv_0199',
    'webhook-timestamp': String(nowS),
    'webhook-signature': sign({ id: 'dlv_0199', timestampS: nowS, body, secrets: [OTHER_SECRET, SECRET] }),
  };

  for (const [name, Webhook] of Object.entries({ standardwebhooks: StandardWebhook, svix: SvixWebhook })) {
    test(`${name} accepts our signature with the new and with the old secret`, () => {
      expect(new Webhook(SECRET).verify(body, headers)).toBeDefined();
      expect(new Webhook(OTHER_SECRET).verify(body, headers)).toBeDefined();
    });

    test(`${name} refuses it for another body`, () => {
      expect(() => new Webhook(SECRET).verify(`${body} `, headers)).toThrow();
    });

    test(`${name} makes signatures that we accept`, () => {
      const signature = new Webhook(SECRET).sign('msg_1', new Date(nowS * 1000), body);
      const given = { id: 'msg_1', timestamp: String(nowS), signature };
      expect(verify({ headers: given, body, secrets: [SECRET], nowS })).toEqual({ ok: true });
    });
  }
});

describe('verification', () => {
  test('accepts the vectors, by secret, by public key and by either of both', () => {
    expect(verifyVector()).toEqual({ ok: true });
    expect(verifyVector({ signature: V1A, secrets: [], publicKey: PUBLIC_KEY })).toEqual({ ok: true });
    expect(verifyVector({ signature: `v2,x ${V1A} ${V1}`, secrets: [OTHER_SECRET, SECRET] })).toEqual({ ok: true });
  });

  test.each(['id', 'timestamp', 'signature'] as const)('names a missing %s header', (name) => {
    expect(verifyVector({ [name]: null })).toEqual({ ok: false, reason: 'missing_header' });
    expect(verifyVector({ [name]: undefined })).toEqual({ ok: false, reason: 'missing_header' });
    expect(verifyVector({ [name]: '' })).toEqual({ ok: false, reason: 'missing_header' });
  });

  test.each(['abc', '1e9', '-1', '1614265330.0', ' 1614265330', '0x60380d72', '9'.repeat(16)])(
    'calls the timestamp %j malformed',
    (timestamp) => {
      expect(verifyVector({ timestamp })).toEqual({ ok: false, reason: 'malformed' });
    },
  );

  test('does not take a message whose id swallows the timestamp', () => {
    const signature = sign({ id: 'a', timestampS: 5, body: '7.x', secrets: [SECRET] });
    expect(verifyVector({ id: 'a.5', timestamp: '7', signature, body: 'x', nowS: 7 })).toEqual({
      ok: false,
      reason: 'malformed',
    });
  });

  test('refuses a header with more signatures than any rotation lists', () => {
    expect(verifyVector({ signature: `${'v1,x '.repeat(40)}${V1}` })).toEqual({ ok: false, reason: 'malformed' });
  });

  test('holds to the tolerance on both sides', () => {
    expect(verifyVector({ nowS: VECTOR.timestampS + 300 })).toEqual({ ok: true });
    expect(verifyVector({ nowS: VECTOR.timestampS + 301 })).toEqual({ ok: false, reason: 'too_old' });
    expect(verifyVector({ nowS: VECTOR.timestampS - 300 })).toEqual({ ok: true });
    expect(verifyVector({ nowS: VECTOR.timestampS - 301 })).toEqual({ ok: false, reason: 'too_new' });
    expect(verifyVector({ nowS: VECTOR.timestampS + 11, toleranceS: 10 })).toEqual({ ok: false, reason: 'too_old' });
  });

  test.each(['v1,', 'v1', V1.replace('v1,', 'v2,'), V1.slice(3), V1.slice(0, -1), `${V1}=`, V1A, 'v1a,AAAA', 'v1a,!'])(
    'finds no match in %j',
    (signature) => {
      expect(verifyVector({ signature })).toEqual({ ok: false, reason: 'no_match' });
    },
  );

  test('finds no match with another key', () => {
    const otherPublicKey = makeSigningKey(new Uint8Array(32).fill(9)).publicKey;
    expect(verifyVector({ secrets: [OTHER_SECRET] })).toEqual({ ok: false, reason: 'no_match' });
    expect(verifyVector({ signature: V1A, publicKey: otherPublicKey })).toEqual({ ok: false, reason: 'no_match' });
  });

  test('throws when it is given no key at all', () => {
    expect(() => verifyVector({ secrets: [] })).toThrow(TypeError);
  });
});

describe('any message', () => {
  const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/);
  const timestampS = fc.integer({ min: 0, max: 4_000_000_000 });
  const body = fc.uint8Array({ maxLength: 200 });
  const secret = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(makeSecret);
  const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });

  test('is verified with each key that signed it', () => {
    fc.assert(
      fc.property(id, timestampS, body, secret, seed, (id, timestampS, body, secret, seed) => {
        const { secretKey, publicKey } = makeSigningKey(seed);
        const signature = sign({ id, timestampS, body, secrets: [secret], signingKey: secretKey });
        const post = { headers: { id, timestamp: String(timestampS), signature }, body, nowS: timestampS };
        return verify({ ...post, secrets: [secret] }).ok && verify({ ...post, publicKey }).ok;
      }),
    );
  });

  test('is refused once a bit of its body has changed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.nat(), fc.nat(7), (body, at, bit) => {
        const signature = sign({ ...VECTOR, body, secrets: [SECRET], signingKey: SIGNING_KEY });
        const changed = body.map((byte, index) => (index === at % body.length ? byte ^ (1 << bit) : byte));
        return (
          !verifyVector({ signature, body: changed }).ok &&
          !verifyVector({ signature, body: changed, secrets: [], publicKey: PUBLIC_KEY }).ok
        );
      }),
    );
  });

  test('is refused once its id or its timestamp has changed', () => {
    const signature = sign({ ...VECTOR, secrets: [SECRET], signingKey: SIGNING_KEY });
    const keys = { signature, publicKey: PUBLIC_KEY, toleranceS: 4_000_000_000 };
    fc.assert(fc.property(id, (id) => id === VECTOR.id || !verifyVector({ ...keys, id }).ok));
    fc.assert(
      fc.property(timestampS, (at) => at === VECTOR.timestampS || !verifyVector({ ...keys, timestamp: String(at) }).ok),
    );
    expect(verifyVector({ ...keys, timestamp: `0${VECTOR.timestampS}` })).toEqual({ ok: false, reason: 'no_match' });
  });
});

describe('a secret', () => {
  const ofBytes = (length: number) => `whsec_${Buffer.alloc(length, 1).toString('base64')}`;

  test('holds 24 to 64 bytes', () => {
    expect(parseSecret(ofBytes(24))).toHaveLength(24);
    expect(parseSecret(ofBytes(64))).toHaveLength(64);
    expect(() => parseSecret(ofBytes(23))).toThrow('24 to 64 bytes');
    expect(() => parseSecret(ofBytes(65))).toThrow('24 to 64 bytes');
    expect(() => parseSecret('whsec_')).toThrow('24 to 64 bytes');
  });

  test.each([
    '',
    SECRET.slice(6),
    SECRET.replace('whsec_', 'whsk_'),
    `${SECRET} `,
    `${SECRET}=`,
    'whsec_!!!!',
    SECRET.slice(0, -1),
  ])('is not %j', (text) => {
    expect(() => parseSecret(text)).toThrow(TypeError);
  });

  test('is not repeated in the error about it', () => {
    expect(() => parseSecret('whsec_topsecret!')).toThrow(/^(?!.*topsecret)/);
  });

  test('is made of exactly 32 random bytes', () => {
    expect(parseSecret(makeSecret(new Uint8Array(32).fill(1)))).toEqual(Buffer.alloc(32, 1));
    expect(() => makeSecret(new Uint8Array(31))).toThrow(TypeError);
  });
});

describe('a signing key', () => {
  test('is its seed and then its public key', () => {
    const seed = Buffer.from(SIGNING_KEY.slice(5), 'base64').subarray(0, 32);
    expect(makeSigningKey(seed).secretKey).toBe(SIGNING_KEY);
    expect(PUBLIC_KEY).toStartWith('whpk_');
    expect(() => makeSigningKey(new Uint8Array(31))).toThrow(TypeError);
  });

  test('is refused when its halves do not belong together', () => {
    const mixed = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]).toString('base64');
    expect(() => parseSigningKey(`whsk_${mixed}`)).toThrow('do not belong together');
    expect(() => parseSigningKey('whsk_')).toThrow(TypeError);
    expect(() => parseSigningKey(SECRET)).toThrow(TypeError);
  });
});

describe('a body signature', () => {
  test('is the base64 HMAC-SHA256 of the raw body', () => {
    const expected = createHmac('sha256', Buffer.from(SECRET.slice(6), 'base64'))
      .update(VECTOR.body)
      .digest('base64');
    expect(bodySignature(SECRET, VECTOR.body)).toBe(expected);
    expect(bodySignature(parseSecret(SECRET), Buffer.from(VECTOR.body))).toBe(expected);
  });
});
