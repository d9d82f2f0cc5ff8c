import { expect, test } from 'bun:test';
import { createTenant, type Tenant } from '../support/api.ts';
import { type CollectedSpan, OtlpCollector } from '../support/otlp-collector.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SENDER = '00f067aa0ba902b7';
const EVENT = { event: 'LatePayment', networkId: 1 };

/** Responds with these statuses, and then with 204. */
function receiver(...statuses: number[]) {
  const received: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ headers }) => {
      received.push(headers.get('traceparent'));
      return new Response(null, { status: statuses.shift() ?? 204 });
    },
  });
  return {
    url: `${server.url.href}secret-path?token=1`,
    port: server.port,
    received,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

async function send(service: TestService, tenant: Tenant, body: string, headers: Record<string, string> = {}) {
  const isBatch = body.includes('\n');
  const response = await fetch(`${service.url}/api/v1/crypto/events${isBatch ? '/batch' : ''}`, {
    method: 'POST',
    headers: {
      'api-key': tenant.apiKey,
      'entity-id': tenant.entityId,
      'content-type': isBatch ? 'application/x-ndjson' : 'application/json',
      ...headers,
    },
    body,
  });
  expect(response.ok).toBe(true);
}

const one = (spans: readonly CollectedSpan[]): CollectedSpan => {
  const [span, ...others] = spans;
  if (span === undefined || others.length > 0) throw new Error(`there are ${spans.length} spans`);
  return span;
};

onSuiteEngine('with OpenTelemetry', (store) => {
  test('an event is one trace: the request of its sender, its acceptance, its delivery, and each attempt', async () => {
    await using collector = new OtlpCollector();
    await using target = receiver(500);
    const tenant = await createTenant(store.db);
    await using service = await startTestService(store.url, {
      ...collector.settings,
      RETRY_SCHEDULE: '0s,10ms',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    await service.client(tenant).register(target.url);
    const trace = { traceparent: `00-${TRACE_ID}-${SENDER}-01`, tracestate: 'a=1' };
    await send(service, tenant, JSON.stringify({ ...EVENT, eventId: 'evt-1' }), trace);
    const inTrace = () => collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
    await until('all spans are there', () => inTrace().length === 5);
    const [request, acceptance, delivery] = ['POST /api/v1/crypto/events', 'accept LatePayment', 'deliver'].map(
      (name) => one(collector.named(name)),
    );
    const attempts = collector.named('POST').sort((a, b) => a.startMs - b.startMs);
    expect(request).toMatchObject({ parentSpanId: SENDER, kind: 'server', traceState: 'a=1', isError: false });
    expect(request?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/api/v1/crypto/events',
      'http.response.status_code': 202,
      'paybell.entity.id': tenant.entityId,
    });
    expect(acceptance).toMatchObject({ parentSpanId: request?.spanId, kind: 'producer' });
    expect(acceptance?.attributes).toMatchObject({ 'paybell.event.id': 'evt-1', 'paybell.event.deliveries': 1 });
    expect(delivery).toMatchObject({ parentSpanId: acceptance?.spanId, kind: 'consumer', isError: false });
    expect(delivery?.attributes).toMatchObject({
      'paybell.delivery.status': 'delivered',
      'paybell.delivery.attempts': 2,
    });
    expect(attempts.map(({ parentSpanId, kind }) => [parentSpanId, kind])).toEqual([
      [delivery?.spanId ?? '', 'client'],
      [delivery?.spanId ?? '', 'client'],
    ]);
    expect(attempts.map(({ isError, attributes }) => [isError, attributes['http.response.status_code']])).toEqual([
      [true, 500],
      [false, 204],
    ]);
    expect(attempts[1]?.attributes).toMatchObject({ 'server.port': target.port, 'paybell.attempt.kind': 'retry' });
    expect(target.received).toEqual(attempts.map(({ spanId }) => `00-${TRACE_ID}-${spanId}-01`));
    expect(delivery?.endMs).toBeGreaterThanOrEqual(attempts[1]?.startMs ?? Number.POSITIVE_INFINITY);
    expect(collector.resources[0]).toMatchObject({
      'service.name': 'paybell',
      'deployment.environment.name': 'test',
      'paybell.role': 'all',
    });
    // The path and the query of a URL can be secrets of the receiver.
    expect(JSON.stringify(collector.spans)).not.toMatch(/secret-path|token=1/);
  });

  test('each event of a batch is a trace of its own, with a link to the request', async () => {
    await using collector = new OtlpCollector();
    await using target = receiver();
    const tenant = await createTenant(store.db);
    await using service = await startTestService(store.url, collector.settings);
    await service.client(tenant).register(target.url);
    const trace = { traceparent: `00-${TRACE_ID}-${SENDER}-01` };
    await send(service, tenant, `${JSON.stringify(EVENT)}\n${JSON.stringify(EVENT)}`, trace);
    await until('both are delivered', () => collector.named('deliver').length === 2);
    const accepted = collector.named('accept LatePayment');
    const request = one(collector.named('POST /api/v1/crypto/events/batch'));
    expect(request).toMatchObject({ traceId: TRACE_ID, parentSpanId: SENDER });
    expect(new Set([TRACE_ID, ...accepted.map(({ traceId }) => traceId)]).size).toBe(3);
    for (const { parentSpanId, links } of accepted) {
      expect({ parentSpanId, links }).toEqual({
        parentSpanId: null,
        links: [{ traceId: TRACE_ID, spanId: request.spanId }],
      });
    }
    expect(target.received.map((sent) => sent?.split('-')[1]).sort()).toEqual(
      accepted.map(({ traceId }) => traceId).sort(),
    );
  });

  test('a trace that is not sampled has no span, and goes on as it came', async () => {
    await using collector = new OtlpCollector();
    await using target = receiver();
    const tenant = await createTenant(store.db);
    await using service = await startTestService(store.url, collector.settings);
    await service.client(tenant).register(target.url);
    const unsampled = `00-${TRACE_ID}-${SENDER}-00`;
    await send(service, tenant, JSON.stringify(EVENT), { traceparent: unsampled });
    await send(service, tenant, JSON.stringify(EVENT), { traceparent: 'not a trace' });
    await until('the second is delivered', () => collector.named('deliver').length === 1);
    expect(target.received).toContain(unsampled);
    expect(collector.spans.filter(({ traceId }) => traceId === TRACE_ID)).toEqual([]);
    // A header that is not valid is as good as none: the request begins a trace.
    expect(one(collector.named('POST /api/v1/crypto/events')).parentSpanId).toBeNull();
  });

  test('an attempt that another instance makes has the same trace', async () => {
    await using collector = new OtlpCollector();
    await using target = receiver();
    const tenant = await createTenant(store.db);
    const settings = { ...collector.settings, RETRY_SCHEDULE: '0s' };
    {
      await using api = await startTestService(store.url, { ...settings, ROLE: 'api', OTEL_SERVICE_NAME: 'api' });
      await api.client(tenant).register(target.url);
      await send(api, tenant, JSON.stringify(EVENT), { traceparent: `00-${TRACE_ID}-${SENDER}-01` });
    }
    // Stopping has sent what was recorded.
    const acceptance = one(collector.named('accept LatePayment'));
    await using _ = await startTestService(store.url, { ...settings, ROLE: 'delivery', OTEL_SERVICE_NAME: 'sender' });
    await until('it is delivered', () => collector.named('deliver').length === 1);
    const delivery = one(collector.named('deliver'));
    expect(delivery).toMatchObject({ traceId: TRACE_ID, parentSpanId: acceptance.spanId, service: 'sender' });
    expect(acceptance.service).toBe('api');
  });
});
