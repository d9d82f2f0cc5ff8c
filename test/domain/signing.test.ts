import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import {
  bodySignature,
  keyIdOf,
  makeSecret,
  makeSigningKey,
  parseKeys,
  parseSecret,
  parseSigningKey,
  publicKeyOf,
  sign,
  signWith,
  toJwk,
} from '../../src/domain/signing.ts';
import type { RawBody } from '../../src/verify/verify.ts';
import { checkSignature } from '../support/signatures.ts';

const VECTOR = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampS: 1614265330, body: '{"test": 2432232314}' };
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SIGNING_KEY = 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==';
const V1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const V1A = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==';
const PUBLIC_KEY = makeSigningKey(Buffer.from(SIGNING_KEY.slice(5), 'base64').subarray(0, 32)).publicKey;
const OTHER_SECRET = makeSecret(new Uint8Array(32).fill(7));

type Received = {
  id?: string | undefined;
  timestamp?: string | undefined;
  signature?: string | undefined;
  body?: RawBody;
  keys?: string | readonly string[];
  nowS?: number;
  toleranceS?: number;
};

/** What the verifier says of the vector with these changes. */
function verifyVector(changes: Received = {}): Promise<string> {
  const received = { id: VECTOR.id, timestamp: String(VECTOR.timestampS), signature: V1, ...changes };
  const { body = VECTOR.body, keys = SECRET, nowS = VECTOR.timestampS, toleranceS = 300 } = changes;
  const headers = {
    'webhook-id': received.id,
    'webhook-timestamp': received.timestamp,
    'webhook-signature': received.signature,
  };
  return checkSignature(body, headers, keys, { nowS, toleranceS });
}

describe('a signature', () => {
  test('of the published vector is the published v1', () => {
    expect(sign({ ...VECTOR, secrets: [SECRET] })).toBe(V1);
  });

  test('of the published vector is the published v1a', () => {
    expect(sign({ ...VECTOR, secrets: [], signingKeys: [SIGNING_KEY] })).toBe(V1A);
  });

  test('lists every secret in order and then the signing key', () => {
    const both = sign({ ...VECTOR, secrets: [OTHER_SECRET, SECRET], signingKeys: [SIGNING_KEY] });
    expect(both).toBe(`${sign({ ...VECTOR, secrets: [OTHER_SECRET] })} ${V1} ${V1A}`);
  });

  test('is the same for a body as text and as bytes, and for keys parsed before', () => {
    const body = '{"note":"Ünïcödé 💶"}';
    const asText = sign({ ...VECTOR, body, secrets: [SECRET], signingKeys: [SIGNING_KEY] });
    expect(signWith(parseKeys([SECRET], [SIGNING_KEY]), { ...VECTOR, body: Buffer.from(body) })).toBe(asText);
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

    test(`${name} makes signatures that we accept`, async () => {
      const signature = new Webhook(SECRET).sign('msg_1', new Date(nowS * 1000), body);
      const received = { id: 'msg_1', timestamp: String(nowS), signature, body, nowS };
      expect(await verifyVector(received)).toBe('verified');
    });
  }
});

describe('verification', () => {
  test('accepts the vectors, by secret, by public key and by either of both', async () => {
    expect(await verifyVector()).toBe('verified');
    expect(await verifyVector({ signature: V1A, keys: PUBLIC_KEY })).toBe('verified');
    expect(await verifyVector({ signature: `v2,x ${V1A} ${V1}`, keys: [OTHER_SECRET, SECRET] })).toBe('verified');
  });

  test.each(['id', 'timestamp', 'signature'] as const)('names a missing %s header', async (name) => {
    expect(await verifyVector({ [name]: undefined })).toBe('missing_header');
    expect(await verifyVector({ [name]: '' })).toBe('missing_header');
  });

  test.each(['abc', '1e9', '-1', '1614265330.0', ' 1614265330', '0x60380d72', '9'.repeat(16)])(
    'calls the timestamp %j malformed',
    async (timestamp) => {
      expect(await verifyVector({ timestamp })).toBe('malformed_header');
    },
  );

  test('does not take a message whose id swallows the timestamp', async () => {
    const signature = sign({ id: 'a', timestampS: 5, body: '7.x', secrets: [SECRET] });
    expect(await verifyVector({ id: 'a.5', timestamp: '7', signature, body: 'x', nowS: 7 })).toBe('malformed_header');
  });

  test('refuses a header with more signatures than any rotation lists', async () => {
    expect(await verifyVector({ signature: `${'v1,x '.repeat(40)}${V1}` })).toBe('malformed_header');
  });

  test('holds to the tolerance on both sides', async () => {
    expect(await verifyVector({ nowS: VECTOR.timestampS + 300 })).toBe('verified');
    expect(await verifyVector({ nowS: VECTOR.timestampS + 301 })).toBe('too_old');
    expect(await verifyVector({ nowS: VECTOR.timestampS - 300 })).toBe('verified');
    expect(await verifyVector({ nowS: VECTOR.timestampS - 301 })).toBe('too_new');
    expect(await verifyVector({ nowS: VECTOR.timestampS + 11, toleranceS: 10 })).toBe('too_old');
  });

  test.each(['v1,', 'v1', V1.replace('v1,', 'v2,'), V1.slice(3), V1.slice(0, -1), `${V1}=`, V1A, 'v1a,AAAA', 'v1a,!'])(
    'finds no match in %j',
    async (signature) => {
      expect(await verifyVector({ signature })).toBeOneOf(['no_match', 'no_common_scheme']);
    },
  );

  test('finds no match with another key', async () => {
    const otherPublicKey = makeSigningKey(new Uint8Array(32).fill(9)).publicKey;
    expect(await verifyVector({ keys: OTHER_SECRET })).toBe('no_match');
    expect(await verifyVector({ signature: V1A, keys: [SECRET, otherPublicKey] })).toBe('no_match');
  });

  test('calls no key at all malformed', async () => {
    expect(await verifyVector({ keys: [] })).toBe('malformed_key');
  });
});

describe('any message', () => {
  const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/);
  const timestampS = fc.integer({ min: 0, max: 4_000_000_000 });
  const body = fc.uint8Array({ maxLength: 200 });
  const secret = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(makeSecret);
  const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });

  test('is verified with each key that signed it', async () => {
    // Throws with a counterexample.
    await fc.assert(
      fc.asyncProperty(id, timestampS, body, secret, seed, async (id, timestampS, body, secret, seed) => {
        const { secretKey, publicKey } = makeSigningKey(seed);
        const signature = sign({ id, timestampS, body, secrets: [secret], signingKeys: [secretKey] });
        const received = { id, timestamp: String(timestampS), signature, body, nowS: timestampS };
        for (const keys of [secret, publicKey]) {
          if ((await verifyVector({ ...received, keys })) !== 'verified') return false;
        }
        return true;
      }),
    );
  });

  test('is refused once a bit of its body has changed', async () => {
    // Throws with a counterexample.
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.nat(), fc.nat(7), async (body, at, bit) => {
        const signature = sign({ ...VECTOR, body, secrets: [SECRET], signingKeys: [SIGNING_KEY] });
        const changed = body.map((byte, index) => (index === at % body.length ? byte ^ (1 << bit) : byte));
        for (const keys of [SECRET, PUBLIC_KEY]) {
          if ((await verifyVector({ signature, body: changed, keys })) !== 'no_match') return false;
        }
        return true;
      }),
    );
  });

  test('is refused once its id or its timestamp has changed', async () => {
    const signature = sign({ ...VECTOR, secrets: [SECRET], signingKeys: [SIGNING_KEY] });
    const received = { signature, keys: [SECRET, PUBLIC_KEY], toleranceS: 4_000_000_000 };
    const isRefused = async (changes: Received) => (await verifyVector({ ...received, ...changes })) === 'no_match';
    await fc.assert(fc.asyncProperty(id, async (id) => id === VECTOR.id || (await isRefused({ id }))));
    await fc.assert(
      fc.asyncProperty(
        timestampS,
        async (at) => at === VECTOR.timestampS || (await isRefused({ timestamp: String(at) })),
      ),
    );
    expect(await verifyVector({ ...received, timestamp: `0${VECTOR.timestampS}` })).toBe('no_match');
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

  test('tells its public key, whose id is the published thumbprint of the published key', () => {
    expect(publicKeyOf(SIGNING_KEY)).toBe(PUBLIC_KEY);
    // RFC 8037, appendix A.2 and A.3.
    const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
    const published = `whpk_${Buffer.from(x, 'base64url').toString('base64')}`;
    expect(toJwk(published)).toEqual({ kty: 'OKP', crv: 'Ed25519', x });
    expect(keyIdOf(published)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
  });

  test('signs beside others, each with a v1a of its own', () => {
    const other = makeSigningKey(new Uint8Array(32).fill(9)).secretKey;
    const [first, second, ...more] = sign({ ...VECTOR, secrets: [], signingKeys: [SIGNING_KEY, other] }).split(' ');
    expect([first, second?.slice(0, 4), more]).toEqual([V1A, 'v1a,', []]);
    expect(second).not.toBe(V1A);
  });

  test('is refused when its public key does not belong to its seed', () => {
    const mixed = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]).toString('base64');
    expect(() => parseSigningKey(`whsk_${mixed}`)).toThrow('does not belong to its seed');
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

  test.each([0, 1, 24, 63, 64, 65, 200])('is the HMAC of RFC 2104 with a key of %i bytes', (length) => {
    const key = Buffer.alloc(length, 7);
    expect(bodySignature(key, VECTOR.body)).toBe(createHmac('sha256', key).update(VECTOR.body).digest('base64'));
  });
});
