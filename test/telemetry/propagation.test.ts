import { expect, test } from 'bun:test';
import { createTenant } from '../support/api.ts';
import { startTestService } from '../support/service.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const EVENT = JSON.stringify({ event: 'LatePayment', networkId: 1 });

type Sent = { traceparent: string | null; tracestate: string | null };

/** Responds to the first request with an error, so that the second is one whose event was read from the store. */
function receiver() {
  const received: Sent[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ headers }) => {
      received.push({ traceparent: headers.get('traceparent'), tracestate: headers.get('tracestate') });
      return new Response(null, { status: received.length === 1 ? 500 : 204 });
    },
  });
  return { url: server.url.href, received, [Symbol.asyncDispose]: () => server.stop(true) };
}

onSuiteEngine('without OpenTelemetry, the trace of an event', (store) => {
  const send = async (path: string, type: string, headers: Record<string, string>): Promise<Sent[]> => {
    await using service = await startTestService(store.url, { RETRY_SCHEDULE: '0s,10ms' });
    await using target = receiver();
    const tenant = await createTenant(store.db);
    await service.client(tenant).register(target.url);
    const response = await fetch(`${service.url}/api/v1/crypto${path}`, {
      method: 'POST',
      headers: { 'api-key': tenant.apiKey, 'entity-id': tenant.entityId, 'content-type': type, ...headers },
      body: EVENT,
    });
    expect(response.ok).toBe(true);
    await until('both attempts were made', () => target.received.length === 2);
    return target.received;
  };
  const sendOne = (headers: Record<string, string>) => send('/events', 'application/json', headers);

  test('is sent on to receivers as it came, with the first attempt and with a retry', async () => {
    const trace = { traceparent: TRACEPARENT, tracestate: 'a=1,b=2' };
    expect(await sendOne(trace)).toEqual([trace, trace]);
  });

  test('is ignored where its header is not valid, and the event is delivered', async () => {
    const none = { traceparent: null, tracestate: null };
    expect(await sendOne({ traceparent: `${TRACEPARENT}-00`, tracestate: 'a=1' })).toEqual([none, none]);
  });

  test('is not that of a batch, which is many events', async () => {
    const none = { traceparent: null, tracestate: null };
    const sent = await send('/events/batch', 'application/x-ndjson', { traceparent: TRACEPARENT });
    expect(sent).toEqual([none, none]);
  });
});
