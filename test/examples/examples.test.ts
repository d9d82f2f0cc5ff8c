import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { POST } from '../../examples/next/app/hooks/paybell/route.ts';
import { Paybell } from '../../src/client/paybell.ts';
import { sampleEvent } from '../../src/contract/events/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createTarget } from '../support/stores.ts';
import { tempBase } from '../support/temp-base.ts';
import { until } from '../support/until.ts';

const EXAMPLES = resolve(import.meta.dir, '../../examples');

/** A running example: where it takes posts, and what it has printed. */
type Receiver = { readonly url: string; readonly printed: () => string; readonly stop: () => Promise<unknown> };

let service: TestService;
let client: Paybell;
let secrets: string;
let folder: string;
let removeStore: () => void;

beforeAll(async () => {
  folder = mkdtempSync(join(tempBase(), 'paybell-examples-'));
  const { url, remove } = await createTarget('sqlite');
  removeStore = remove;
  service = await startTestService(url);
  client = new Paybell({ url: service.client().url, ...service.first });
  await client.secrets.rotate();
  secrets = (await client.secrets.list()).secrets.map(({ secret }) => secret).join(' ');
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  removeStore();
  rmSync(folder, { recursive: true, force: true });
});

/** A program of its own, on a free port, once it says that it listens. */
async function startProgram(command: readonly string[]): Promise<Receiver> {
  const env = { PATH: process.env.PATH ?? '', PORT: '0', PAYBELL_SECRETS: secrets };
  const child = Bun.spawn([...command], { cwd: folder, env, stdout: 'pipe', stderr: 'inherit' });
  let printed = '';
  const reading = (async () => {
    for await (const part of child.stdout) printed += new TextDecoder().decode(part);
  })();
  await until('the example listens', () => /port: \d+/.test(printed) || child.exitCode !== null);
  const port = /port: (\d+)/.exec(printed)?.[1];
  if (port === undefined) throw new Error(`it ended before it listened: ${printed}`);
  const stop = () => {
    child.kill();
    return Promise.all([child.exited, reading]);
  };
  return { url: `http://127.0.0.1:${port}/hooks/paybell`, printed: () => printed, stop };
}

/** On Node, which knows no TypeScript: built first, with all that it needs in one file. */
async function startOnNode(example: string): Promise<Receiver> {
  const { outputs } = await Bun.build({ entrypoints: [join(EXAMPLES, example)], target: 'node', format: 'esm' });
  const built = join(folder, `${example}.mjs`);
  await Bun.write(built, (await outputs[0]?.text()) ?? '');
  return startProgram(['node', built]);
}

/** The handler alone, as Next calls it: with a Request of the platform. */
async function startHandler(): Promise<Receiver> {
  process.env.PAYBELL_SECRETS = secrets;
  const lines: string[] = [];
  const log = console.log;
  console.log = (...words: unknown[]) => lines.push(words.join(' '));
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: POST });
  const stop = async () => {
    console.log = log;
    delete process.env.PAYBELL_SECRETS;
    await server.stop(true);
  };
  return { url: `${server.url}hooks/paybell`, printed: () => lines.join('\n'), stop };
}

const STARTS = {
  'Express, on Node': () => startOnNode('express.ts'),
  'Fastify, on Node': () => startOnNode('fastify.ts'),
  'Hono, on Bun': () => startProgram([process.execPath, join(EXAMPLES, 'hono.ts')]),
  'Next’s app router (its handler)': startHandler,
};

describe.each(Object.entries(STARTS))('the example for %s', (name, start) => {
  const networkId = 1_000 + Object.keys(STARTS).indexOf(name);
  let receiver: Receiver;
  let deliveryId: string;

  beforeAll(async () => {
    receiver = await start();
    await client.webhooks.register({ postUrl: receiver.url, networkIds: [networkId], events: ['TransferFinalized'] });
  });
  afterAll(() => receiver?.stop());

  const paid = () => receiver.printed().match(/paid: 25\.00 USDC/g)?.length ?? 0;
  const attempts = async () => (await client.deliveries.get(deliveryId)).attemptLog.map(({ statusCode }) => statusCode);

  test('takes a real post with letters that a careless copy of the body would spoil', async () => {
    const eventId = `paid-on-${networkId}`;
    const sample = sampleEvent('TransferFinalized', networkId, eventId, Math.floor(Date.now() / 1000));
    const exact = `${JSON.stringify({ ...sample, note: 'Ünïcödé 💶' }).slice(0, -1)} , "precise" : 1.10 }`;
    expect(await client.events.publishText(exact)).toEqual({ eventId, deliveries: 1 });
    deliveryId = (await client.deliveries.list({ eventId })).deliveries[0]?.deliveryId ?? '';
    await until('it is delivered', async () => (await client.deliveries.get(deliveryId)).status === 'delivered');
    expect(await attempts()).toEqual([204]);
    await until('it has acted on it', () => paid() === 1);
  });

  test('takes it again without acting on it again', async () => {
    await client.deliveries.redeliver(deliveryId);
    await until('it is sent again', async () => (await attempts()).length === 2);
    expect(await attempts()).toEqual([204, 204]);
    expect(paid()).toBe(1);
  });

  test('is told when the payment is taken back, once', async () => {
    const eventId = `paid-on-${networkId}`;
    const retraction = { event: 'EventRetracted', networkId, eventId: `not-${eventId}`, retracts: { eventId } };
    expect(await client.events.publish(retraction)).toEqual({ eventId: retraction.eventId, deliveries: 1 });
    await until('it has been told', () => receiver.printed().includes(`taken back: ${eventId}`));
    expect(receiver.printed().match(/taken back/g)).toHaveLength(1);
  });

  test.each([
    ['no signature', {}, 400, 'missing_header'],
    [
      'a forged one',
      {
        'webhook-id': 'dlv_1',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': 'v1,AAAA',
      },
      401,
      'no_match',
    ],
    ['an old one', { 'webhook-id': 'dlv_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' }, 401, 'too_old'],
  ])('refuses a post with %s, and says why', async (_, headers, status, reason) => {
    const body = JSON.stringify({ event: 'TransferFinalized', networkId: 1 });
    const answer = await fetch(receiver.url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
    expect([answer.status, await answer.text()]).toEqual([status, reason]);
    expect(paid()).toBe(1);
  });
});
