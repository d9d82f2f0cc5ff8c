import { describe, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import {
  diagnose,
  type Evidence,
  firstDifference,
  type Post,
  parseHeaders,
} from '../../src/dashboard/views/secrets/diagnose.ts';

const RIGHT = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const BODY = '{"event":"TransferFinalized","amount":12345678901234567890.10}';
const NOW_S = 1_763_168_400;
const NOTHING: Evidence = { sentBody: null, secrets: [] };

function signed(body: string, secret: string, timestampS = NOW_S): Post {
  const signature = new Webhook(secret).sign('dlv_1', new Date(timestampS * 1000), body);
  return {
    body,
    headers: { 'Webhook-Id': 'dlv_1', 'Webhook-Timestamp': String(timestampS), 'Webhook-Signature': signature },
  };
}

describe('of a post the tester says', () => {
  test('that it holds', async () => {
    expect(await diagnose(signed(BODY, RIGHT), RIGHT, NOTHING, NOW_S)).toEqual({ kind: 'holds' });
  });

  test('that it holds even when the body is no event: that is not what was asked', async () => {
    expect(await diagnose(signed('plain text', RIGHT), RIGHT, NOTHING, NOW_S)).toEqual({ kind: 'holds' });
  });

  test('how old it is, where that alone is wrong', async () => {
    const post = signed(BODY, RIGHT, NOW_S - 900);
    expect(await diagnose(post, RIGHT, NOTHING, NOW_S)).toEqual({ kind: 'too_old', ageS: 900 });
  });

  test('that it is from the future', async () => {
    const post = signed(BODY, RIGHT, NOW_S + 900);
    expect(await diagnose(post, RIGHT, NOTHING, NOW_S)).toEqual({ kind: 'too_new', ageS: -900 });
  });

  test('that the body was altered, where the service knows what was sent', async () => {
    const post = { ...signed(BODY, RIGHT), body: `${BODY}\n` };
    const evidence = { sentBody: BODY, secrets: [] };
    expect(await diagnose(post, RIGHT, evidence, NOW_S)).toEqual({ kind: 'altered_body', sentBody: BODY });
  });

  test('which secret is the right one, where it is in force', async () => {
    const evidence = { sentBody: BODY, secrets: [{ secretId: 'sec_1', secret: RIGHT }] };
    expect(await diagnose(signed(BODY, RIGHT), OTHER, evidence, NOW_S)).toEqual({
      kind: 'wrong_secret',
      rightSecretId: 'sec_1',
    });
  });

  test('that the secret is wrong, where the body is the one that was sent and no secret in force fits', async () => {
    const evidence = { sentBody: BODY, secrets: [] };
    expect(await diagnose(signed(BODY, RIGHT), OTHER, evidence, NOW_S)).toEqual({
      kind: 'wrong_secret',
      rightSecretId: null,
    });
  });

  test('no more than it knows, where the service knows nothing of the post', async () => {
    expect(await diagnose(signed(BODY, RIGHT), OTHER, NOTHING, NOW_S)).toEqual({ kind: 'no_match' });
  });

  test('which header is missing', async () => {
    const verdict = await diagnose({ body: BODY, headers: {} }, RIGHT, NOTHING, NOW_S);
    expect(verdict).toMatchObject({ kind: 'unusable', reason: 'missing_header' });
  });

  test('that the secret is none, without repeating it', async () => {
    const verdict = await diagnose(signed(BODY, RIGHT), 'hunter2', NOTHING, NOW_S);
    expect(verdict).toMatchObject({ kind: 'unusable', reason: 'malformed_key' });
    expect(JSON.stringify(verdict)).not.toContain('hunter2');
  });
});

test.each([
  ['as a server prints them', 'webhook-id: dlv_1\nwebhook-signature: v1,a= v1,b='],
  ['as curl -v prints them', '< webhook-id: dlv_1\r\n< webhook-signature: v1,a= v1,b=\r\n'],
  ['as an object', '"webhook-id": "dlv_1",\n  "webhook-signature": "v1,a= v1,b=",'],
])('headers are taken %s', (_, text) => {
  expect(parseHeaders(text)).toEqual({ 'webhook-id': 'dlv_1', 'webhook-signature': 'v1,a= v1,b=' });
});

test('two texts part at their first difference, or where the shorter one ends', () => {
  expect(firstDifference('abc', 'abd')).toBe(2);
  expect(firstDifference('abc', 'abcd')).toBe(3);
});
