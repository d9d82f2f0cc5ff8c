import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { type Stats, statsSchema } from '../../src/contract/stats.ts';
import { createLogger } from '../../src/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { parseMetrics, type Scraped, sampleOf } from '../support/prometheus.ts';
import { createTarget } from '../support/stores.ts';
import { SUITE_ENGINES } from '../support/suite.ts';
import { until } from '../support/until.ts';

/** A whole service that delivers to two receivers, one of which is broken, and what it then tells of itself. */

const DELIVERED = 5;
/** As docs/operations.md lists them. */
const WORKERS = 'claims,records,suspensions,sweep,fan-out,bulk redelivery,retention,clock step,heartbeat'.split(',');

describe.each(SUITE_ENGINES)('a service on %s that has delivered', (engine) => {
  let service: Service;
  let good: Bun.Server<undefined>;
  let broken: Bun.Server<undefined>;
  let remove: () => void;
  let scraped: Scraped;

  const api = (path: string, init: RequestInit = {}) =>
    fetch(`${service.url}/api/v1/crypto${path}`, {
      ...init,
      headers: {
        'api-key': service.firstEntity?.apiKey ?? '',
        'entity-id': service.firstEntity?.entityId ?? '',
        'content-type': 'application/json',
      },
    });
  const post = (path: string, body: unknown) => api(path, { method: 'POST', body: JSON.stringify(body) });
  const scrape = async () => parseMetrics(await (await fetch(`${service.url}/metrics`)).text());
  const stats = async (): Promise<Stats> => statsSchema.parse(await (await api('/stats?interval=minute')).json());

  async function readUntil<Value>(
    what: string,
    read: () => Promise<Value>,
    isGood: (value: Value) => boolean,
  ): Promise<Value> {
    let value = await read();
    await until(what, async () => {
      value = await read();
      return isGood(value);
    });
    return value;
  }

  beforeAll(async () => {
    const receive = (status: number) =>
      Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(null, { status }) });
    good = receive(204);
    broken = receive(500);
    const created = await createTarget(engine);
    remove = created.remove;
    const config = loadConfig({
      PORT: '0',
      DATABASE_URL: created.url,
      SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      ALLOW_INSECURE_TARGETS: 'true',
      RETRY_SCHEDULE: '0s,50ms',
      // A node that fails, so that the metrics of networks are there too.
      CHAIN_RPC: `8453=${broken.url}`,
    });
    service = await startService(config, createLogger('silent'));
    for (const { url } of [good, broken]) {
      await post('/webhooks/classic', { postUrl: url.href, networkIds: [1], events: ['LatePayment'] });
    }
    for (let count = 0; count < DELIVERED; count++) await post('/events', { event: 'LatePayment', networkId: 1 });
    const ended = (metrics: Scraped) =>
      ['delivered', 'failed'].every(
        (outcome) => sampleOf(metrics, 'paybell_deliveries_total', { outcome }) === DELIVERED,
      );
    scraped = await readUntil('all have ended', scrape, ended);
  });

  afterAll(async () => {
    await service.stop();
    await good.stop(true);
    await broken.stop(true);
    remove();
  });

  test('tells what became of events, deliveries and attempts', () => {
    const value = (name: string, labels?: Record<string, string>) => sampleOf(scraped, name, labels);
    expect(value('paybell_events_accepted_total')).toBe(DELIVERED);
    expect(value('paybell_deliveries_total', { outcome: 'delivered' })).toBe(DELIVERED);
    expect(value('paybell_deliveries_total', { outcome: 'failed' })).toBe(DELIVERED);
    expect(value('paybell_attempts_total', { kind: 'first', result: '2xx' })).toBe(DELIVERED);
    expect(value('paybell_attempts_total', { kind: 'first', result: '5xx' })).toBe(DELIVERED);
    expect(value('paybell_attempts_total', { kind: 'retry', result: '5xx' })).toBe(DELIVERED);
    expect(value('paybell_delivery_receipt_seconds_count')).toBe(DELIVERED);
    expect(value('paybell_delivery_receipt_seconds_sum')).toBeLessThan(60 * DELIVERED);
    expect(value('paybell_attempt_duration_seconds_count')).toBe(3 * DELIVERED);
    expect(value('paybell_attempts_in_flight')).toBe(0);
  });

  test('tells of store and process', () => {
    for (const operation of ['read', 'snapshot', 'transaction']) {
      const calls = sampleOf(scraped, 'paybell_store_duration_seconds_count', { operation });
      expect([operation, calls > 0 || operation === 'snapshot']).toEqual([operation, true]);
    }
    expect(sampleOf(scraped, 'paybell_info', { store: engine, role: 'all' })).toBe(1);
    expect(sampleOf(scraped, 'paybell_instances')).toBe(1);
    expect(sampleOf(scraped, 'paybell_destination_concurrency')).toBe(16);
    for (const worker of WORKERS) {
      expect([worker, sampleOf(scraped, 'paybell_worker_failures_in_a_row', { worker })]).toEqual([worker, 0]);
      expect([worker, sampleOf(scraped, 'paybell_worker_failing_seconds', { worker })]).toEqual([worker, 0]);
    }
    expect(sampleOf(scraped, 'process_resident_memory_bytes')).toBeGreaterThan(1e6);
    expect(sampleOf(scraped, 'process_cpu_seconds_total')).toBeGreaterThan(0);
  });

  test('names no entity, no webhook and no address in a label', () => {
    for (const { name, labels } of scraped.samples) {
      expect([name, Object.values(labels).join(' ')]).toEqual([
        name,
        expect.not.stringMatching(/127\.0|ent_|wh_|dlv_/),
      ]);
    }
  });

  test('shows its queue empty once it is', async () => {
    const isIdle = ({ samples }: Scraped) =>
      samples.some(({ name, value }) => name === 'paybell_deliveries_waiting' && Number(value) === 0);
    const metrics = await readUntil('nothing waits', scrape, isIdle);
    expect(sampleOf(metrics, 'paybell_oldest_due_age_seconds')).toBe(0);
    const names = metrics.samples.map(({ name }) => name);
    expect(names).toContain('paybell_deliveries_due');
    expect(names).toContain('paybell_oldest_due_measured_age_seconds');
  });

  test('gives the entity its own figures within a few seconds', async () => {
    const { total, destinations } = await readUntil(
      'all are counted',
      stats,
      (read) => read.total.delivered + read.total.failed === 2 * DELIVERED,
    );
    expect(total).toMatchObject({
      events: DELIVERED,
      accepted: 2 * DELIVERED,
      delivered: DELIVERED,
      failed: DELIVERED,
    });
    expect(total.timeToReceiptMs.p50).toBeGreaterThan(0);
    const byName = new Map(destinations.map(({ destination, ...figures }) => [destination, figures]));
    expect(byName.get(good.url.origin)).toMatchObject({ accepted: DELIVERED, delivered: DELIVERED, failed: 0 });
    expect(byName.get(broken.url.origin)).toMatchObject({ accepted: DELIVERED, delivered: 0, failed: DELIVERED });
  });

  test('has every metric on the dashboard, and none is on the dashboard that it has not', async () => {
    const text = await Bun.file(resolve(import.meta.dir, '../../deploy/grafana/dashboard.json')).text();
    const { panels } = JSON.parse(text) as { panels: { targets?: { expr: string }[] }[] };
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n');
    const shown = expressions.match(/\b(paybell|process)_[a-z_]+/g) ?? [];
    const plain = (name: string) => (scraped.names.includes(name) ? name : name.replace(/_(bucket|sum|count)$/, ''));
    expect([...new Set(shown.map(plain))].sort()).toEqual(scraped.names.toSorted());
  });
});
