import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { type AttemptTools, makeAttempt } from '../../src/delivery/attempt.ts';
import type { Sender } from '../../src/delivery/sender.ts';
import type { RequestKeys, SigningKeyCache } from '../../src/delivery/signing-key-cache.ts';
import { destinationKey } from '../../src/domain/post-url.ts';
import { makeSecret, parseKeys } from '../../src/domain/signing.ts';
import { StoreUnavailableError } from '../../src/store/database/database.ts';
import type { Claimed } from '../../src/store/deliveries/claim/claimed.ts';
import { checkSequence } from '../../src/verify/check-sequence.ts';
import { HOOK, respondedWith, ScriptedSender } from '../support/deliveries.ts';
import { rejection } from '../support/rejection.ts';
import { checkSignature } from '../support/signatures.ts';

const NOW_MS = 1_763_168_400_789;
const NEW_SECRET = makeSecret(new Uint8Array(32).fill(1));
const OLD_SECRET = makeSecret(new Uint8Array(32).fill(2));
const BODY = '{ "2": 1, "amount": 123456789012345678901234567890 }';

const CLAIMED: Claimed = {
  entityId: 'ent_1',
  deliveryId: 'dlv_1',
  token: 1,
  destination: destinationKey('ent_1', 'https://hooks.example.com'),
  eventId: 'evt_1',
  webhookId: 'wh_1',
  kind: 'first',
  status: 'pending',
  attempts: 0,
  mayBeReceived: false,
  steps: 0,
  postUrl: HOOK,
  webhookNo: 1,
  endpointNo: 1,
  sequence: null,
  sequenceEndpointNo: 1,
  orderKey: null,
  generation: 0,
  createdAtMs: NOW_MS,
  failingSinceMs: null,
  body: BODY,
  trace: null,
  revision: 1,
  acceptedAtMs: NOW_MS,
  leaseEndsMs: Number.POSITIVE_INFINITY,
};

function tools(sender: Sender, given: Partial<AttemptTools> = {}, keysFor?: () => Promise<RequestKeys>): AttemptTools {
  const own = { headers: {}, certificate: null };
  const keys = { keysFor: keysFor ?? (async () => ({ ...parseKeys([NEW_SECRET, OLD_SECRET]), ...own })) };
  return {
    sender,
    keys: keys as unknown as SigningKeyCache,
    schedule: [0, 5_000],
    bodySignatureHeader: undefined,
    nowMs: () => NOW_MS,
    random: () => 0.5,
    ...given,
  };
}

describe('an attempt', () => {
  test('sends the body unchanged, with its ids, the time of this attempt and a signature for every secret', async () => {
    const sender = new ScriptedSender();
    await makeAttempt(tools(sender), CLAIMED);
    const [request] = sender.requests;
    expect(request).toMatchObject({ postUrl: HOOK, body: BODY });
    expect(request?.headers).toEqual({
      'content-type': 'application/json',
      'webhook-id': 'dlv_1',
      'webhook-timestamp': '1763168400',
      'webhook-signature': expect.stringMatching(/^v1,\S+ v1,\S+$/),
      'paybell-event-id': 'evt_1',
    });
    for (const secret of [NEW_SECRET, OLD_SECRET]) {
      expect(await checkSignature(BODY, request?.headers ?? {}, secret, { nowS: 1_763_168_400 })).toBe('verified');
    }
  });

  test('adds the number of the delivery at its endpoint, with a signature for every secret', async () => {
    const sender = new ScriptedSender();
    await makeAttempt(tools(sender), { ...CLAIMED, sequence: 42, endpointNo: 7, sequenceEndpointNo: 0x199c2a6e0b17 });
    const headers = sender.requests[0]?.headers ?? {};
    const signed = 'dlv_1.ep_00199c2a6e0b17.42';
    const signatures = [NEW_SECRET, OLD_SECRET].map((secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    });
    expect(headers).toMatchObject({
      'paybell-endpoint': 'ep_00199c2a6e0b17',
      'paybell-sequence': '42',
      'paybell-sequence-signature': signatures.join(' '),
    });
    const tracked = await checkSequence(headers, NEW_SECRET);
    expect(tracked).toEqual({ endpointId: 'ep_00199c2a6e0b17', sequence: 42, deliveryId: 'dlv_1' });
    expect(await checkSignature(BODY, headers, NEW_SECRET, { nowS: 1_763_168_400 })).toBe('verified');
  });

  test('adds the older signature of the body alone, by the newest secret, if the setting asks for it', async () => {
    const sender = new ScriptedSender();
    await makeAttempt(tools(sender, { bodySignatureHeader: 'x-body-signature' }), CLAIMED);
    const key = Buffer.from(NEW_SECRET.slice('whsec_'.length), 'base64');
    const expected = createHmac('sha256', key).update(BODY).digest('base64');
    expect(sender.requests[0]?.headers['x-body-signature']).toBe(expected);
  });

  test('decides what the response means for the delivery', async () => {
    const record = await makeAttempt(tools(new ScriptedSender(() => respondedWith(500))), CLAIMED);
    expect(record).toEqual({
      delivery: CLAIMED,
      startedAtMs: NOW_MS,
      outcome: respondedWith(500),
      next: { status: 'retrying', steps: 1, delayMs: 5_000, suspend: null },
    });
  });

  test.each([
    ['the event is gone', { ...CLAIMED, body: null }, undefined],
    ['the id cannot be signed', { ...CLAIMED, deliveryId: 'dlv.1' }, undefined],
    ['the secrets cannot be opened', CLAIMED, () => Promise.reject(new Error('sealed under another key'))],
  ])('is not sent when %s, and fails the delivery with the reason', async (_reason, claimed, keysFor) => {
    const sender = new ScriptedSender();
    const record = await makeAttempt(tools(sender, {}, keysFor), claimed);
    expect(sender.requests).toEqual([]);
    expect(record).toMatchObject({
      outcome: { kind: 'error', error: 'unprocessable' },
      next: { status: 'failed', delayMs: null },
    });
  });

  test('is not sent and does not count when the secrets cannot be read', async () => {
    const sender = new ScriptedSender();
    const down = () => Promise.reject(new StoreUnavailableError('down'));
    expect(await rejection(makeAttempt(tools(sender, {}, down), CLAIMED))).toBeInstanceOf(StoreUnavailableError);
    expect(sender.requests).toEqual([]);
  });
});
