import { listen } from '../../src/api/server.ts';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import type { Database } from '../../src/store/database/database.ts';
import { createTenant, testApp } from '../support/api.ts';
import { type Random, seededRandom } from '../support/random.ts';
import { connectRaw } from '../support/raw-http.ts';

/**
 * Requests whose bytes were changed at random, sent to the server that is used in production. Most are no longer HTTP: the
 * server may refuse them in any way but with an error of its own, and has to answer the next one. 501 and 505 are refusals:
 * the bytes name a method or a version of HTTP that the server does not have.
 */

const AT_ONCE = 32;
/** A request that lost its end gets no response, and says nothing. */
const PATIENCE_MS = 100;
const PATH = '/api/v1/crypto';

function originals(credentials: string): string[] {
  const event = '{"event":"LatePayment","networkId":1,"eventId":"raw"}';
  const json = (body: string) => `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const head = (line: string) => `${line} HTTP/1.1\r\nhost: 127.0.0.1\r\n${credentials}`;
  return [
    `${head('GET /healthz')}\r\n`,
    `${head('HEAD /healthz')}\r\n`,
    `${head(`GET ${PATH}/webhooks/classic?networkId=1&sortBy=postUrl`)}\r\n`,
    `${head(`GET ${PATH}/deliveries?status=failed`)}\r\n`,
    `${head(`POST ${PATH}/events`)}${json(event)}`,
    `${head(`POST ${PATH}/events`)}transfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\n35\r\n${event}\r\n0\r\n\r\n`,
    `${head(`PATCH ${PATH}/webhooks/classic?networkIds=1,10`)}${json('{"postUrl":"https://example.com/"}')}`,
    `${head(`DELETE ${PATH}/webhooks/classic/wh_0`)}\r\n`,
  ];
}

const PIECES = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  ':',
  ',',
  '%',
  '%00',
  '[',
  ']',
  '999',
  '-1',
  '\xff',
  'chunked',
  '../',
  '{',
  '"',
];

function mutate(text: string, random: Random): string {
  let mutated = text;
  for (let left = 1 + random.below(4); left > 0; left--) {
    const at = random.below(mutated.length + 1);
    const length = random.below(8);
    const piece = PIECES[random.below(PIECES.length)] ?? '';
    const before = mutated.slice(0, at);
    const changes = [
      () => before + piece + mutated.slice(at),
      () => before + piece + mutated.slice(at + length),
      () => before + mutated.slice(at + length),
      () => before + mutated.slice(at, at + length).repeat(3) + mutated.slice(at),
      () => before + String.fromCharCode(random.below(256)) + mutated.slice(at + 1),
    ];
    mutated = changes[random.below(changes.length)]?.() ?? mutated;
  }
  return mutated;
}

/** Returns how many responses had each status; throws at the first 5xx, with the request that led to it. */
export async function fireRaw(db: Database, requests: number, seed: number): Promise<Map<string, number>> {
  const { entityId, apiKey } = await createTenant(db);
  const server = listen(testApp(db, { RATE_LIMIT: 'off' }), loadConfig({ PORT: '0' }), createLogger('silent'));
  const texts = originals(`api-key: ${apiKey}\r\nentity-id: ${entityId}\r\n`);
  const random = seededRandom(seed);
  const statuses = new Map<string, number>();
  const sendOne = async (text: string) => {
    const response = await exchange(server.url, text);
    const status = /^HTTP\/1\.1 (\d{3})/.exec(response)?.[1] ?? 'none';
    if (/^5/.test(status) && status !== '501' && status !== '505') {
      throw new Error(`seed ${seed}: ${status} to ${JSON.stringify(text)}`);
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  try {
    for (let sent = 0; sent < requests; sent += AT_ONCE) {
      const group = Array.from({ length: Math.min(AT_ONCE, requests - sent) }, () =>
        mutate(texts[random.below(texts.length)] ?? '', random),
      );
      await Promise.all(group.map(sendOne));
      const alive = await fetch(`${server.url}/healthz`);
      if (alive.status !== 200) throw new Error(`seed ${seed}: the server answers ${alive.status} after ${sent}`);
    }
  } finally {
    await server.stop();
  }
  return statuses;
}

async function exchange(url: string, text: string): Promise<string> {
  const connection = await connectRaw(url);
  connection.write(text);
  const response = await Promise.race([connection.received('\r\n\r\n'), Bun.sleep(PATIENCE_MS).then(() => '')]);
  connection.end();
  return response;
}
