import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { WEBHOOKS } from '../support/api.ts';
import { Instances } from '../support/instances.ts';
import type { Served } from '../support/paybell.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { connectRaw, type RawConnection } from '../support/raw-http.ts';
import { LINUX, needs } from '../support/requirements.ts';
import type { Client } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The small form; `npm run slow-clients` holds thousands and measures what the others feel. */
const SOCKETS = 150;

describe('clients that send a few bytes and then nothing', () => {
  let instances: Instances;
  let served: Served;
  let client: Client;
  const held: RawConnection[] = [];

  beforeAll(async () => {
    instances = await Instances.on('sqlite', { LOG_LEVEL: 'debug' });
    ({ served, client } = await instances.start());
    const { entityId, apiKey } = instances.credentials;
    const credentials = `host: a\r\napi-key: ${apiKey}\r\nentity-id: ${entityId}\r\n`;
    const beginnings = [
      'GET / HTT',
      `GET ${WEBHOOKS} HTTP/1.1\r\n${credentials}x-slow: `,
      `POST ${WEBHOOKS} HTTP/1.1\r\n${credentials}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
      `POST /api/v1/crypto/events/batch HTTP/1.1\r\n${credentials}content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n`,
    ];
    for (let index = 0; index < SOCKETS; index++) {
      const connection = await connectRaw(served.url);
      connection.write(beginnings[index % beginnings.length] ?? '');
      held.push(connection);
    }
  });

  afterAll(() => instances.stop());

  const scrape = async () => parseMetrics(await (await fetch(`${served.url}/metrics`)).text());
  const requestsWith = async (status: RegExp) => {
    const { samples } = await scrape();
    const matching = samples.filter(
      ({ name, labels }) => name === 'paybell_http_requests_total' && status.test(labels.status ?? ''),
    );
    return matching.reduce<number>((sum, { value }) => sum + Number(value), 0);
  };

  test('do not delay other clients', async () => {
    for (let times = 0; times < 50; times++)
      expect((await client.request('GET', '/webhooks/classic')).status).toBe(200);
  });

  test('that hang up in the middle of a body have failed themselves: none is counted or logged as a fault of ours', async () => {
    for (const connection of held) connection.end();
    await until('every request that had begun has ended', async () => (await requestsWith(/^400$/)) >= SOCKETS / 2 - 1);
    expect(await requestsWith(/^5/)).toBe(0);
    expect(served.stdout()).not.toContain('"level":50');
  });

  test.skipIf(!LINUX.isMet)(`leave nothing open behind them ${needs(LINUX)}`, async () => {
    const open = async () => sampleOf(await scrape(), 'process_open_fds');
    // Throws if they stay open.
    await until('their sockets are closed', async () => (await open()) < SOCKETS / 2);
  });
});
