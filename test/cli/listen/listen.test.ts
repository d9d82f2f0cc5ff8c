import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  type ReceivedRequest,
  type Receiver,
  type ReceiverOptions,
  type SentResponse,
  startReceiver,
} from '../../../src/cli/listen/receiver.ts';
import { showRequest, showResponse } from '../../../src/cli/listen/show-request.ts';
import { createSignatureCheck, type Signature } from '../../../src/cli/listen/signature-check.ts';
import { sign } from '../../../src/domain/signing.ts';
import { cleanUpAfterEach } from '../../support/clean-up.ts';
import { commandLine } from '../../support/command-line.ts';
import { freePort } from '../../support/free-port.ts';
import { Ledger } from '../../support/ledger.ts';
import { rejection } from '../../support/rejection.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const AN_HOUR_MS = 3_600_000;
const BODY = '{"event":"LatePayment","networkId":8453,"amount":123456789012345678901234567890}';

const cleanUp = cleanUpAfterEach();

type Seen = { receiver: Receiver; requests: ReceivedRequest[]; responses: SentResponse[] };

function listen(options: Partial<ReceiverOptions> = {}): Seen {
  const requests: ReceivedRequest[] = [];
  const responses: SentResponse[] = [];
  const receiver = startReceiver({
    host: '127.0.0.1',
    port: 0,
    plan: { fail: null, status: null },
    delayMs: 0,
    forwardTo: null,
    check: createSignatureCheck(null, [SECRET]),
    onRequest: (request) => requests.push(request),
    onResponse: (_, response) => responses.push(response),
    ...options,
  });
  cleanUp.push(() => receiver.stop());
  return { receiver, requests, responses };
}

function firstOf<Item>(items: readonly Item[]): Item {
  const [first] = items;
  if (first === undefined) throw new Error('nothing was received');
  return first;
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
  test('does not share a port with another receiver', () => {
    const { receiver } = listen();
    expect(() => listen({ port: Number(new URL(receiver.url).port) })).toThrow();
  });

  test('responds to a verified request with 204 and shows its time, event and signature', async () => {
    const { receiver, requests } = listen();
    expect((await send(receiver)).status).toBe(204);
    expect(requests[0]).toMatchObject({ path: '/hook', deliveryId: 'dlv_1', eventId: 'evt_1', attempt: 1, body: BODY });
    const shown = showRequest(firstOf(requests));
    expect(shown[0]).toMatch(/^\d\d:\d\d:\d\d {2}LatePayment on Base$/);
    expect(shown[1]).toBe('  ✓ signature verified');
    expect(shown.join('\n')).toContain('"amount": 123456789012345678901234567890');
  });

  test.each([
    ['made with another secret', signedHeaders(BODY, OTHER), 401, 'no_match'],
    ['over another body', signedHeaders('{}'), 401, 'no_match'],
    ['that is missing', {}, 400, 'missing_header'],
  ])('refuses a signature %s', async (_, headers, status, state) => {
    const { receiver, requests } = listen();
    expect((await send(receiver, headers)).status).toBe(status);
    expect(String(requests[0]?.signature.state)).toBe(state);
    expect(showRequest(firstOf(requests))[1]).toStartWith('  ✗ ');
  });

  test('without a key accepts everything and says so', async () => {
    const { receiver, requests } = listen({ check: createSignatureCheck(null, []) });
    expect((await send(receiver, {})).status).toBe(204);
    expect(showRequest(firstOf(requests))[1]).toBe('  signature not checked: give --secret, or an API key');
  });

  test('--fail fails the first attempts of each delivery and accepts the next', async () => {
    const { receiver, responses } = listen({ plan: { fail: 2, status: null } });
    const statuses: number[] = [];
    for (const id of ['dlv_1', 'dlv_1', 'dlv_2', 'dlv_1', 'dlv_2', 'dlv_2']) {
      statuses.push((await send(receiver, signedHeaders(BODY, SECRET, id))).status);
    }
    expect(statuses).toEqual([500, 500, 500, 204, 500, 204]);
    expect(responses.map(({ simulated }) => simulated)).toEqual([true, true, true, false, true, false]);
  });

  test('--status is the status of every response, and with --fail of those that fail', async () => {
    const all = listen({ plan: { fail: null, status: 503 } });
    expect([(await send(all.receiver)).status, (await send(all.receiver)).status]).toEqual([503, 503]);
    const once = listen({ plan: { fail: 1, status: 410 } });
    expect([(await send(once.receiver)).status, (await send(once.receiver)).status]).toEqual([410, 204]);
  });

  test('--delay responds no sooner', async () => {
    const { receiver, responses } = listen({ delayMs: 50 });
    await send(receiver);
    expect(responses[0]?.durationMs).toBeGreaterThanOrEqual(49);
  });

  test('--delay ends when the sender closes the connection', async () => {
    const closed = Promise.withResolvers<SentResponse>();
    const sender = new AbortController();
    const { receiver } = listen({
      delayMs: AN_HOUR_MS,
      onRequest: () => setImmediate(() => sender.abort()),
      onResponse: (_, response) => closed.resolve(response),
    });
    const request = { method: 'POST', body: BODY, headers: signedHeaders(BODY), signal: sender.signal };
    await rejection(fetch(receiver.url, request));
    expect(await closed.promise).toMatchObject({ aborted: true });
  });

  test('--delay ends at once if the sender has closed the connection before it', async () => {
    const arrived = Promise.withResolvers<void>();
    const checked = Promise.withResolvers<Signature>();
    const closed = Promise.withResolvers<SentResponse>();
    const { receiver } = listen({
      delayMs: AN_HOUR_MS,
      check: () => {
        arrived.resolve();
        return checked.promise;
      },
      onResponse: (_, response) => closed.resolve(response),
    });
    const { hostname, port } = new URL(receiver.url);
    const sender = connect(Number(port), hostname);
    sender.write(`POST / HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`);
    await arrived.promise;
    sender.destroy();
    await once(sender, 'close');
    // The receiver serves this request after it has noticed the end of the connection before.
    await fetch(receiver.url);
    checked.resolve({ state: 'unchecked', text: 'signature not checked', status: 204 });
    expect(await closed.promise).toMatchObject({ aborted: true });
  });

  test('--forward forwards the same bytes and headers, and relays the response', async () => {
    await using app = new Ledger(
      () => new Response('made', { status: 201, headers: { 'x-app': 'yes', 'content-type': 'text/plain' } }),
    );
    const { receiver } = listen({ forwardTo: app.url('/app/hook?tenant=1') });
    // Forwarded with any signature, because the target checks it too.
    const headers = signedHeaders('other bytes');
    const response = await send(receiver, headers);
    expect([response.status, response.headers.get('x-app'), await response.text()]).toEqual([201, 'yes', 'made']);
    expect(app.requests).toHaveLength(1);
    expect(new TextDecoder().decode(app.requests[0]?.body)).toBe(BODY);
    expect(app.requests[0]).toMatchObject({ path: '/app/hook', headers });
  });

  test('--forward to a closed port responds with 502 and says why', async () => {
    const { receiver, requests, responses } = listen({ forwardTo: 'http://127.0.0.1:1/hook' });
    const response = await send(receiver);
    expect(response.status).toBe(502);
    expect(await response.text()).toContain('could not forward to http://127.0.0.1:1/hook: ');
    expect(showResponse(firstOf(requests), firstOf(responses), true)).toMatch(
      /^ {2}→ 502, could not forward to http.*: /,
    );
  });

  test('a simulated failure is not forwarded', async () => {
    await using app = new Ledger();
    const { receiver } = listen({ forwardTo: app.url(), plan: { fail: 1, status: null } });
    expect([(await send(receiver)).status, (await send(receiver)).status]).toEqual([500, 200]);
    expect(app.requests).toHaveLength(1);
  });

  test('control characters of a request do not reach the terminal', async () => {
    const { receiver, requests } = listen();
    const evil = '{"event":"\u009b2J","x":"\u0085"} \x1b]0;owned\x07';
    await send(receiver, { ...signedHeaders(evil), 'webhook-id': 'dlv_1' }, evil);
    expect(showRequest(firstOf(requests)).join('')).not.toMatch(/\p{Cc}/u);
  });

  test('anything but POST is rejected with 405', async () => {
    const { receiver } = listen();
    const response = await fetch(receiver.url);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('secrets that come from a server', () => {
  test('are read again when a signature does not match, but not for every one', async () => {
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

  test('stay in use when the server is down', async () => {
    let nowMs = Date.now();
    const source = () => Promise.reject(new Error('down'));
    const check = createSignatureCheck(source, [SECRET], () => nowMs);
    nowMs += 10_000;
    const stateOf = async (secret: string) =>
      (await check(Buffer.from(BODY), new Headers(signedHeaders(BODY, secret)))).state;
    expect([await stateOf(OTHER), await stateOf(SECRET)]).toEqual(['no_match', 'verified']);
  });
});

/** Runs the command until it has received one request, which is sent as soon as it listens. */
async function listenForOne(...args: readonly string[]) {
  const port = freePort();
  const listening = commandLine({ PAYBELL_SECRET: SECRET })(['listen', '--count', '1', '--port', `${port}`, ...args]);
  const url = `http://127.0.0.1:${port}/hook`;
  const post = () => fetch(url, { method: 'POST', body: BODY, headers: signedHeaders(BODY) }).catch(() => null);
  for (let tries = 0; tries < 600; tries++) {
    const response = await post();
    if (response !== null) return { port, listening, response };
    await Bun.sleep(50);
  }
  throw new Error('the command did not listen');
}

describe('paybell listen as a command', () => {
  test('says where it forwards to, and how the events of a server get there', async () => {
    const app = new Ledger();
    cleanUp.push(() => app[Symbol.asyncDispose]());
    const { listening, response } = await listenForOne('--forward', app.url('/app'));
    expect(response.status).toBe(200);
    const said = `Requests to this receiver are forwarded to ${app.url('/app')}. Add --server to forward the events of a server instead.`;
    expect((await listening).stdout).toContain(said);
  });

  test('prints a line of JSON for each request on standard output and nothing else, and exits after --count', async () => {
    const { port, listening, response } = await listenForOne('--json');
    expect(response.status).toBe(204);
    const { exitCode, stdout, stderr } = await listening;
    expect(JSON.parse(stdout)).toMatchObject({ deliveryId: 'dlv_1', signature: 'verified', status: 204, body: BODY });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringContaining(`:${port}/; stop with Ctrl-C.\nSignatures are checked with`),
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
