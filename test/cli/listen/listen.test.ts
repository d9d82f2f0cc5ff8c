import { afterEach, describe, expect, test } from 'bun:test';
import {
  type Answer,
  type Post,
  type Receiver,
  type ReceiverOptions,
  startReceiver,
} from '../../../src/cli/listen/receiver.ts';
import { showAnswer, showPost } from '../../../src/cli/listen/show-request.ts';
import { createSignatureCheck } from '../../../src/cli/listen/signature-check.ts';
import { sign } from '../../../src/domain/signing.ts';
import { commandLine } from '../../support/command-line.ts';
import { Ledger } from '../../support/ledger.ts';
import { freePort } from '../../support/postgres.ts';
import { rejection } from '../../support/rejection.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const BODY = '{"event":"LatePayment","networkId":8453,"amount":123456789012345678901234567890}';

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0)) await undo();
});

type Seen = { receiver: Receiver; posts: Post[]; answers: Answer[] };

function listen(options: Partial<ReceiverOptions> = {}): Seen {
  const posts: Post[] = [];
  const answers: Answer[] = [];
  const receiver = startReceiver({
    host: '127.0.0.1',
    port: 0,
    plan: { fail: null, status: null },
    delayMs: 0,
    forwardTo: null,
    check: createSignatureCheck(null, [SECRET]),
    onPost: (post) => posts.push(post),
    onAnswer: (_, answer) => answers.push(answer),
    ...options,
  });
  cleanUp.push(() => receiver.stop());
  return { receiver, posts, answers };
}

function signedHeaders(body: string, secret = SECRET, id = 'dlv_1'): Record<string, string> {
  const timestampS = Math.floor(Date.now() / 1000);
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': sign({ id, timestampS, body, secrets: [secret] }),
    'paybell-event-id': 'evt_1',
  };
}

const send = (receiver: Receiver, headers = signedHeaders(BODY), body: string = BODY) =>
  fetch(`${receiver.url}hook`, { method: 'POST', body, headers });

describe('paybell listen', () => {
  test('takes no port that another receiver has', () => {
    const { receiver } = listen();
    expect(() => listen({ port: Number(new URL(receiver.url).port) })).toThrow();
  });

  test('answers a genuine post with 204 and shows when, what and that it is verified', async () => {
    const { receiver, posts } = listen();
    expect((await send(receiver)).status).toBe(204);
    expect(posts[0]).toMatchObject({ path: '/hook', deliveryId: 'dlv_1', eventId: 'evt_1', post: 1, body: BODY });
    const shown = showPost(posts[0] as Post);
    expect(shown[0]).toMatch(/^\d\d:\d\d:\d\d {2}LatePayment on Base$/);
    expect(shown[1]).toBe('  ✓ signature verified');
    expect(shown.join('\n')).toContain('"amount": 123456789012345678901234567890');
  });

  test.each([
    ['made with another secret', signedHeaders(BODY, OTHER), 401, 'no_match'],
    ['over another body', signedHeaders('{}'), 401, 'no_match'],
    ['that is missing', {}, 400, 'missing_header'],
  ])('refuses a signature %s', async (_, headers, status, state) => {
    const { receiver, posts } = listen();
    expect((await send(receiver, headers)).status).toBe(status);
    expect(posts[0]?.signature.state).toBe(state as never);
    expect(showPost(posts[0] as Post)[1]).toStartWith('  ✗ ');
  });

  test('with nothing to check with takes everything and says so', async () => {
    const { receiver, posts } = listen({ check: createSignatureCheck(null, []) });
    expect((await send(receiver, {})).status).toBe(204);
    expect(showPost(posts[0] as Post)[1]).toBe('  signature not checked');
  });

  test('--fail fails the first posts of each delivery and then takes them', async () => {
    const { receiver, answers } = listen({ plan: { fail: 2, status: null } });
    const statuses: number[] = [];
    for (const id of ['dlv_1', 'dlv_1', 'dlv_2', 'dlv_1', 'dlv_2', 'dlv_2']) {
      statuses.push((await send(receiver, signedHeaders(BODY, SECRET, id))).status);
    }
    expect(statuses).toEqual([500, 500, 500, 204, 500, 204]);
    expect(answers.map(({ onPurpose }) => onPurpose)).toEqual([true, true, true, false, true, false]);
  });

  test('--status answers everything with it, and with --fail only what fails', async () => {
    const all = listen({ plan: { fail: null, status: 503 } });
    expect([(await send(all.receiver)).status, (await send(all.receiver)).status]).toEqual([503, 503]);
    const once = listen({ plan: { fail: 1, status: 410 } });
    expect([(await send(once.receiver)).status, (await send(once.receiver)).status]).toEqual([410, 204]);
  });

  test('--delay answers no sooner, and ends when the sender hangs up', async () => {
    const { receiver, answers } = listen({ delayMs: 50 });
    await send(receiver);
    expect(answers[0]?.durationMs).toBeGreaterThanOrEqual(49);
    const hungUp = Promise.withResolvers<Answer>();
    const slow = listen({ delayMs: 3_600_000, onAnswer: (_, answer) => hungUp.resolve(answer) });
    const signal = AbortSignal.timeout(100);
    const request = { method: 'POST', body: BODY, headers: signedHeaders(BODY), signal };
    await rejection(fetch(slow.receiver.url, request));
    expect(await hungUp.promise).toMatchObject({ hungUp: true });
  });

  test('--forward passes on the same bytes and headers, and relays the answer', async () => {
    await using app = new Ledger(
      () => new Response('made', { status: 201, headers: { 'x-app': 'yes', 'content-type': 'text/plain' } }),
    );
    const { receiver } = listen({ forwardTo: app.url('/app/hook?tenant=1') });
    // Whatever its signature: the app behind is there to check it.
    const headers = signedHeaders('other bytes');
    const answer = await send(receiver, headers);
    expect([answer.status, answer.headers.get('x-app'), await answer.text()]).toEqual([201, 'yes', 'made']);
    expect(app.requests).toHaveLength(1);
    expect(new TextDecoder().decode(app.requests[0]?.body)).toBe(BODY);
    expect(app.requests[0]).toMatchObject({ path: '/app/hook', headers });
  });

  test('--forward to nobody answers 502 and says why', async () => {
    const { receiver, posts, answers } = listen({ forwardTo: 'http://127.0.0.1:1/hook' });
    const answer = await send(receiver);
    expect(answer.status).toBe(502);
    expect(await answer.text()).toContain('http://127.0.0.1:1/hook did not take it');
    expect(showAnswer(posts[0] as Post, answers[0] as Answer, true)).toMatch(/^ {2}→ 502, http.* did not take it: /);
  });

  test('a post made to fail is not passed on', async () => {
    await using app = new Ledger();
    const { receiver } = listen({ forwardTo: app.url(), plan: { fail: 1, status: null } });
    expect([(await send(receiver)).status, (await send(receiver)).status]).toEqual([500, 200]);
    expect(app.requests).toHaveLength(1);
  });

  test('what others wrote does not steer the terminal', async () => {
    const { receiver, posts } = listen();
    const evil = '{"event":"\u009b2J","x":"\u0085"} \x1b]0;owned\x07';
    await send(receiver, { ...signedHeaders(evil), 'webhook-id': 'dlv_1' }, evil);
    expect(showPost(posts[0] as Post).join('')).not.toMatch(/\p{Cc}/u);
  });

  test('anything but a post is told what this is', async () => {
    const { receiver } = listen();
    const answer = await fetch(receiver.url);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('secrets that come from a server', () => {
  test('are asked for again when a post does not match, but not for every one', async () => {
    let nowMs = Date.now();
    let asked = 0;
    const source = async () => {
      asked++;
      return [OTHER];
    };
    const check = createSignatureCheck(source, [SECRET], () => nowMs);
    const stateOf = async (secret: string) =>
      (await check(Buffer.from(BODY), new Headers(signedHeaders(BODY, secret)))).state;
    expect(await stateOf(SECRET)).toBe('verified');
    expect([await stateOf(OTHER), asked]).toEqual(['no_match', 0]);
    nowMs += 10_000;
    expect([await stateOf(OTHER), asked]).toEqual(['verified', 1]);
    expect([await stateOf(SECRET), asked]).toEqual(['no_match', 1]);
  });

  test('stay in use when the server cannot be asked', async () => {
    let nowMs = Date.now();
    const source = () => Promise.reject(new Error('down'));
    const check = createSignatureCheck(source, [SECRET], () => nowMs);
    nowMs += 10_000;
    const stateOf = async (secret: string) =>
      (await check(Buffer.from(BODY), new Headers(signedHeaders(BODY, secret)))).state;
    expect([await stateOf(OTHER), await stateOf(SECRET)]).toEqual(['no_match', 'verified']);
  });
});

describe('paybell listen as a command', () => {
  test('prints a line of JSON for each post on standard output and nothing else, and ends after --count', async () => {
    const port = freePort();
    const listening = commandLine({ PAYBELL_SECRET: SECRET })([
      'listen',
      '--json',
      '--count',
      '1',
      '--port',
      String(port),
    ]);
    const url = `http://127.0.0.1:${port}/hook`;
    const post = () => fetch(url, { method: 'POST', body: BODY, headers: signedHeaders(BODY) }).catch(() => null);
    let answer: Response | null = null;
    for (let tries = 0; tries < 600 && answer === null; tries++) {
      answer = await post();
      if (answer === null) await Bun.sleep(50);
    }
    expect(answer?.status).toBe(204);
    const { exitCode, stdout, stderr } = await listening;
    expect(JSON.parse(stdout)).toMatchObject({ deliveryId: 'dlv_1', signature: 'verified', status: 204, body: BODY });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringContaining(`:${port}/ until Ctrl-C.\nSignatures are checked with`),
    });
    expect(stdout + stderr).not.toContain(SECRET);
  });

  test.each([
    [['--secret', 'whsec_'], /whsec_ with 24 to 64 bytes/],
    [['--fail', '0'], /--fail/],
    [['--status', '99'], /--status/],
    [['--delay', 'long'], /--delay/],
    [['--forward', 'localhost:8000'], /--forward/],
    [['--port', '70000'], /--port/],
  ])('%j is wrong usage and says why', async (args, message) => {
    const { exitCode, stdout, stderr } = await commandLine({})(['listen', ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
