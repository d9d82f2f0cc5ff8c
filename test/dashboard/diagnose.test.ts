import { describe, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import {
  diagnose,
  type Evidence,
  firstDifference,
  parseHeaders,
  type SignedRequest,
} from '../../src/dashboard/views/secrets/diagnose.ts';

const RIGHT = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const BODY = '{"event":"TransferFinalized","amount":12345678901234567890.10}';
const NOW_S = 1_763_168_400;
const NO_EVIDENCE: Evidence = { sentBody: null, secrets: [] };

function signed(body: string, secret: string, timestampS = NOW_S): SignedRequest {
  const signature = new Webhook(secret).sign('dlv_1', new Date(timestampS * 1000), body);
  return {
    body,
    headers: { 'Webhook-Id': 'dlv_1', 'Webhook-Timestamp': String(timestampS), 'Webhook-Signature': signature },
  };
}

describe('a request is diagnosed', () => {
  test('as valid', async () => {
    expect(await diagnose(signed(BODY, RIGHT), RIGHT, NO_EVIDENCE, NOW_S)).toEqual({ kind: 'valid' });
  });

  test('as valid even if the body is not an event, because only the signature is checked', async () => {
    expect(await diagnose(signed('plain text', RIGHT), RIGHT, NO_EVIDENCE, NOW_S)).toEqual({ kind: 'valid' });
  });

  test('as too old, with its age, if only the timestamp is wrong', async () => {
    const request = signed(BODY, RIGHT, NOW_S - 900);
    expect(await diagnose(request, RIGHT, NO_EVIDENCE, NOW_S)).toEqual({ kind: 'too_old', ageS: 900 });
  });

  test('as from the future', async () => {
    const request = signed(BODY, RIGHT, NOW_S + 900);
    expect(await diagnose(request, RIGHT, NO_EVIDENCE, NOW_S)).toEqual({ kind: 'too_new', ageS: -900 });
  });

  test('as altered if Paybell knows the body that was sent', async () => {
    const request = { ...signed(BODY, RIGHT), body: `${BODY}\n` };
    const evidence = { sentBody: BODY, secrets: [] };
    expect(await diagnose(request, RIGHT, evidence, NOW_S)).toEqual({ kind: 'altered_body', sentBody: BODY });
  });

  test('as signed with another active secret, which is named', async () => {
    const evidence = { sentBody: BODY, secrets: [{ secretId: 'sec_1', secret: RIGHT }] };
    expect(await diagnose(signed(BODY, RIGHT), OTHER, evidence, NOW_S)).toEqual({
      kind: 'wrong_secret',
      rightSecretId: 'sec_1',
    });
  });

  test('as signed with an unknown secret if the body is unaltered and no active secret matches', async () => {
    const evidence = { sentBody: BODY, secrets: [] };
    expect(await diagnose(signed(BODY, RIGHT), OTHER, evidence, NOW_S)).toEqual({
      kind: 'wrong_secret',
      rightSecretId: null,
    });
  });

  test('as not matching if Paybell knows nothing about the request', async () => {
    expect(await diagnose(signed(BODY, RIGHT), OTHER, NO_EVIDENCE, NOW_S)).toEqual({ kind: 'no_match' });
  });

  test('as unverifiable if a header is missing', async () => {
    const verdict = await diagnose({ body: BODY, headers: {} }, RIGHT, NO_EVIDENCE, NOW_S);
    expect(verdict).toMatchObject({ kind: 'unverifiable', reason: 'missing_header' });
  });

  test('as unverifiable if the secret is malformed, without repeating it', async () => {
    const verdict = await diagnose(signed(BODY, RIGHT), 'hunter2', NO_EVIDENCE, NOW_S);
    expect(verdict).toMatchObject({ kind: 'unverifiable', reason: 'malformed_key' });
    expect(JSON.stringify(verdict)).not.toContain('hunter2');
  });
});

test.each([
  ['as a server prints them', 'webhook-id: dlv_1\nwebhook-signature: v1,a= v1,b='],
  ['as curl -v prints them', '< webhook-id: dlv_1\r\n< webhook-signature: v1,a= v1,b=\r\n'],
  ['as an object', '"webhook-id": "dlv_1",\n  "webhook-signature": "v1,a= v1,b=",'],
])('headers are parsed %s', (_, text) => {
  expect(parseHeaders(text)).toEqual({ 'webhook-id': 'dlv_1', 'webhook-signature': 'v1,a= v1,b=' });
});

test('two texts differ at their first different character, or where the shorter one ends', () => {
  expect(firstDifference('abc', 'abd')).toBe(2);
  expect(firstDifference('abc', 'abcd')).toBe(3);
});
