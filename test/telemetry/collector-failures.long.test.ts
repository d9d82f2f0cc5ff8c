import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { startService } from '../../src/service.ts';
import { LossReporter } from '../../src/telemetry/loss-reporter.ts';
import { TEST_SECRET_KEY } from '../support/command-line.ts';
import { freePort } from '../support/free-port.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';
import { TestService } from '../support/service.ts';
import { createTarget } from '../support/stores.ts';
import { until } from '../support/until.ts';

const EVENTS = 20;
/** Far longer than a test may take: stopping must not wait for it. */
const COLLECTOR_TIMEOUT_MS = 600_000;

/** Delivers events while the collector fails, and stops. Returns what was received, and what was logged of the collector. */
async function deliverDespite(settings: Record<string, string>): Promise<{ received: number; reasons: string[] }> {
  const { url, remove } = await createTarget('sqlite');
  let received = 0;
  const target = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => {
      received++;
      return new Response();
    },
  });
  const lines: { msg: string; reason?: string }[] = [];
  const config = loadConfig({
    PORT: '0',
    DATABASE_URL: url,
    SECRET_KEY: TEST_SECRET_KEY,
    ALLOW_INSECURE_TARGETS: 'true',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '1',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
    OTEL_EXPORTER_OTLP_TIMEOUT: String(COLLECTOR_TIMEOUT_MS),
    ...settings,
  });
  const log = createLogger('warn', { write: (line) => lines.push(JSON.parse(line) as { msg: string }) });
  {
    await using service = new TestService(await startService(config, log));
    const client = service.client();
    await client.register(target.url.href);
    for (let sent = 0; sent < EVENTS; sent++) await client.send({});
    await until('all are delivered', () => received === EVENTS);
  }
  await target.stop(true);
  remove();
  return { received, reasons: lines.flatMap(({ reason }) => reason ?? []) };
}

test('a collector that is down, slow or full, or that refuses, loses spans, and neither a delivery nor the end of the service', async () => {
  await using slow = new OtlpCollector(() => new Promise(() => undefined));
  await using full = new OtlpCollector(
    () => new Response(null, { status: 503, headers: { 'retry-after': String(COLLECTOR_TIMEOUT_MS) } }),
  );
  await using refusing = new OtlpCollector(() => new Response('no', { status: 401 }));
  const endpoint = (collector: OtlpCollector) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const [down, ...others] = await Promise.all([
    deliverDespite({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` }),
    // With room for so few spans that most find none.
    deliverDespite({ ...endpoint(slow), OTEL_BSP_MAX_QUEUE_SIZE: '2' }),
    deliverDespite(endpoint(full)),
    deliverDespite(endpoint(refusing)),
  ]);
  expect([down, ...others].map(({ received }) => received)).toEqual([EVENTS, EVENTS, EVENTS, EVENTS]);
  expect(others.at(-1)?.reasons).toEqual(['The collector responded with 401']);
  for (const collector of [slow, full, refusing]) expect(collector.requests.length).toBeGreaterThan(0);
});

test('what a collector does not take is logged at once, then once a minute, with how many spans were lost', () => {
  let nowMs = 0;
  const lines: { reason: string; lostSpans: number }[] = [];
  const log = createLogger('warn', { write: (line) => lines.push(JSON.parse(line) as (typeof lines)[0]) });
  const losses = new LossReporter(log, () => nowMs);
  const exporter = losses.watchSpans({
    export: (_spans, done) => done({ code: 1, error: new Error('connection refused') }),
    shutdown: () => Promise.resolve(),
  });
  const failTwice = () => {
    for (const spans of [new Array(3), new Array(4)]) exporter.export(spans, () => undefined);
  };
  failTwice();
  nowMs = 59_999;
  failTwice();
  nowMs = 60_000;
  failTwice();
  expect(lines.map(({ reason, lostSpans }) => [reason, lostSpans])).toEqual([
    ['connection refused', 3],
    ['connection refused', 4 + 7 + 3],
  ]);
});
