import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { startService } from '../../src/service.ts';
import { TEST_SECRET_KEY } from '../support/command-line.ts';
import { attributesOf, OtlpCollector } from '../support/otlp-collector.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { startTestService, TestService } from '../support/service.ts';
import { createTarget } from '../support/stores.ts';
import { until } from '../support/until.ts';

const CUMULATIVE = 2;

test('every metric of /metrics is sent to the collector, under its name and with the same values', async () => {
  const { url, remove } = await createTarget('sqlite');
  await using collector = new OtlpCollector();
  {
    await using service = await startTestService(url, { ...collector.settings, OTEL_TRACES_EXPORTER: 'none' });
    for (let sent = 0; sent < 3; sent++) await service.client().send({});
    const scraped = parseMetrics(await (await fetch(`${service.url}/metrics`)).text());
    const accepted = () => collector.metrics.get('paybell_events_accepted_total')?.sum;
    await until('the collector has them', () => accepted()?.dataPoints[0]?.asDouble === 3);
    expect(accepted()).toMatchObject({ isMonotonic: true, aggregationTemporality: CUMULATIVE });
    expect([...collector.metrics.keys()].sort()).toEqual(scraped.names.toSorted());
    const requests = collector.metrics.get('paybell_http_request_duration_seconds');
    expect(requests).toMatchObject({ unit: 's', description: 'Time from a request to its response.' });
    const route = '/api/v1/crypto/events';
    const point = requests?.histogram?.dataPoints.find(({ attributes }) => attributesOf(attributes).route === route);
    expect(point?.count).toBe(sampleOf(scraped, 'paybell_http_request_duration_seconds_count', { route }));
    expect(point?.bucketCounts?.reduce((sum, count) => sum + count, 0)).toBe(3);
    expect(point?.bucketCounts).toHaveLength((point?.explicitBounds?.length ?? 0) + 1);
    const info = collector.metrics.get('paybell_info')?.gauge?.dataPoints[0];
    expect(attributesOf(info?.attributes ?? [])).toMatchObject({ store: 'sqlite', role: 'all' });
  }
  expect(collector.requests.filter(({ path }) => path === '/v1/traces')).toEqual([]);
  remove();
});

test('log lines of a request have the ids of its span, and requests to a collector the headers of the settings', async () => {
  const { url, remove } = await createTarget('sqlite');
  await using collector = new OtlpCollector();
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('debug', { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  const config = loadConfig({
    PORT: '0',
    DATABASE_URL: url,
    SECRET_KEY: TEST_SECRET_KEY,
    ...collector.settings,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20k1',
  });
  {
    await using service = new TestService(await startService(config, log));
    await service.client().request('GET', '/nothing-here');
    await service.client().send({});
    await fetch(`${service.url}/healthz`);
  }
  const requests = lines.filter(({ msg }) => msg === 'request');
  const spans = collector.spans.filter(({ kind }) => kind === 'server');
  expect(spans.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([404, 202]);
  expect(requests.map(({ status, trace_id, span_id }) => [status, trace_id, span_id])).toEqual([
    ...spans.map(({ attributes, traceId, spanId }) => [attributes['http.response.status_code'], traceId, spanId]),
    // A health check is no part of a trace.
    [200, undefined, undefined],
  ]);
  expect(new Set(collector.requests.map(({ headers }) => headers.get('authorization')))).toEqual(
    new Set(['Bearer k1']),
  );
  remove();
});

test('spans and metrics are sent in protobuf by default, compressed if the settings ask for it', async () => {
  const { url, remove } = await createTarget('sqlite');
  await using collector = new OtlpCollector(() => new Response());
  {
    const settings = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
      OTEL_BSP_SCHEDULE_DELAY: '1',
      OTEL_METRIC_EXPORT_INTERVAL: '60000',
    };
    await using service = await startTestService(url, settings);
    await service.client().send({});
    // Metrics are sent at the stop, which does not wait long for the exporters; spans show that they are loaded.
    await until('spans are sent', () => collector.requests.length > 0);
  }
  const sent = collector.requests.map(({ path, headers }) =>
    [path, headers.get('content-type'), headers.get('content-encoding')].join(' '),
  );
  expect([...new Set(sent)].sort()).toEqual([
    '/v1/metrics application/x-protobuf gzip',
    '/v1/traces application/x-protobuf gzip',
  ]);
  remove();
});
