import { resolve } from 'node:path';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { type CollectedSpan, OtlpCollector } from '../test/support/otlp-collector.ts';
import { startTestService } from '../test/support/service.ts';
import { createTarget } from '../test/support/stores.ts';
import { until } from '../test/support/until.ts';

/**
 * Draws docs/images/trace.svg from the spans that a collector gets of one event, from an instrumented sender to an instrumented
 * receiver that fails once: `npx bun docs/generate-trace.ts`.
 */

const FILE = resolve(import.meta.dir, 'images/trace.svg');

/** Events before the one of the picture, so that it shows no first time. */
const WARM_UP = 100;

/** A program with OpenTelemetry, as senders and receivers are. */
function instrumented(service: string, collector: OtlpCollector) {
  const exporter = new OTLPTraceExporter({ url: `${collector.url}/v1/traces` });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer(service);
  const start = (name: string, kind: SpanKind, parent = ROOT_CONTEXT) => {
    const span = tracer.startSpan(name, { kind }, parent);
    return { span, context: trace.setSpan(parent, span) };
  };
  return { start, stop: () => provider.shutdown() };
}

async function collectTrace(): Promise<CollectedSpan[]> {
  await using collector = new OtlpCollector();
  const { url, remove } = await createTarget('sqlite');
  const shop = instrumented('shop', collector);
  const ledger = instrumented('ledger', collector);
  let failures = 0;
  const receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async ({ headers }) => {
      const [, traceId = '', spanId = '', flags] = headers.get('traceparent')?.split('-') ?? [];
      if (flags !== '01') return new Response();
      const sender = { traceId, spanId, traceFlags: 1, isRemote: true };
      const parent = trace.setSpanContext(ROOT_CONTEXT, sender);
      const { span, context } = ledger.start('POST /hooks', SpanKind.SERVER, parent);
      const status = failures++ === 0 ? 503 : 204;
      const booking: Span = ledger.start('book payment', SpanKind.INTERNAL, context).span;
      await Bun.sleep(status === 503 ? 4 : 12);
      booking.end();
      span.setAttribute('http.response.status_code', status);
      if (status === 503) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      return new Response(null, { status });
    },
  });
  {
    await using service = await startTestService(url, { ...collector.settings, RETRY_SCHEDULE: '0s,20ms' });
    await service.client().register(`${receiver.url.href}hooks`, ['TransferFinalized']);
    const { apiKey, entityId } = service.first;
    const send = (traceparent: string) =>
      fetch(`${service.url}/api/v1/crypto/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'api-key': apiKey, 'entity-id': entityId, traceparent },
        body: JSON.stringify({ event: 'TransferFinalized', networkId: 1 }),
      });
    for (let sent = 0; sent < WARM_UP; sent++) await send(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`);
    const { span, context } = shop.start('checkout', SpanKind.INTERNAL);
    const sending = shop.start('POST', SpanKind.CLIENT, context);
    const { traceId, spanId } = sending.span.spanContext();
    await send(`00-${traceId}-${spanId}-01`);
    sending.span.end();
    span.end();
    await until('it is delivered', () => collector.named('deliver').length === 1);
  }
  await Promise.all([shop.stop(), ledger.stop(), receiver.stop(true)]);
  remove();
  const traceId = collector.named('checkout')[0]?.traceId;
  return collector.spans.filter((span) => span.traceId === traceId);
}

type Row = { readonly span: CollectedSpan; readonly depth: number };

/** Each span below its parent, in the order in which they began. */
function rowsOf(spans: readonly CollectedSpan[], parentSpanId: string | null = null, depth = 0): Row[] {
  return spans
    .filter((span) => span.parentSpanId === parentSpanId)
    .sort((a, b) => a.startMs - b.startMs)
    .flatMap((span) => [{ span, depth }, ...rowsOf(spans, span.spanId, depth + 1)]);
}

const SERVICES = ['shop', 'paybell', 'ledger'];
const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #24292f; }
    .note { fill: #656d76; }
    .failed { fill: #cf222e; }
    .shop { fill: #8250df; }
    .paybell { fill: #0969da; }
    .ledger { fill: #1a7f37; }
    line { stroke: #d1d9e0; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .note { fill: #9198a1; }
      .failed { fill: #ff7b72; }
      .shop { fill: #a371f7; }
      .paybell { fill: #4493f8; }
      .ledger { fill: #3fb950; }
      line { stroke: #3d444d; }
    }`;
const TITLE =
  'One trace: a request of a shop, its acceptance, its delivery with two attempts, and what the receiver did';
const WIDTH = 960;
const BARS_FROM = 300;
const BARS_TO = 950;
const ROW_HEIGHT = 30;
const TOP = 62;
const MOST_TICKS = 7;

function draw(rows: readonly Row[]): string {
  const firstMs = Math.min(...rows.map(({ span }) => span.startMs));
  const lastMs = Math.max(...rows.map(({ span }) => span.endMs));
  const x = (ms: number) => BARS_FROM + ((ms - firstMs) / (lastMs - firstMs)) * (BARS_TO - BARS_FROM);
  const height = TOP + rows.length * ROW_HEIGHT + 16;
  const legend = SERVICES.map(
    (name, index) =>
      `<rect class="${name}" x="${index * 100}" y="6" width="12" height="12" rx="2"/><text x="${index * 100 + 18}" y="17">${name}</text>`,
  );
  const stepMs = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((ms) => (lastMs - firstMs) / ms <= MOST_TICKS) ?? 1_000;
  const ticks: string[] = [];
  for (let ms = 0; ms <= lastMs - firstMs; ms += stepMs) {
    const at = x(firstMs + ms).toFixed(1);
    ticks.push(`<line x1="${at}" x2="${at}" y1="${TOP - 8}" y2="${height - 12}"/>`);
    ticks.push(`<text x="${at}" y="${TOP - 14}" class="note" text-anchor="middle">${ms} ms</text>`);
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${TITLE}">
  <style>${STYLE}
  </style>
${legend.join('\n')}
${ticks.join('\n')}
${rows.map((row, index) => drawRow(row, TOP + index * ROW_HEIGHT, x)).join('\n')}
</svg>
`;
}

function drawRow({ span, depth }: Row, y: number, x: (ms: number) => number): string {
  const { name, service, startMs, endMs, isError, attributes } = span;
  const status = attributes['http.response.status_code'];
  const label = status === undefined || name.includes('/') ? name : `${name} → ${status}`;
  const left = x(startMs);
  const width = Math.max(x(endMs) - left, 2);
  const isLeft = left + width > BARS_TO - 60;
  const [at, anchor] = isLeft ? [left - 6, 'end'] : [left + width + 6, 'start'];
  const place = `x="${left.toFixed(1)}" y="${y + 5}" height="17"`;
  return [
    `<text${isError ? ' class="failed"' : ''} x="${depth * 16}" y="${y + 17}">${Bun.escapeHTML(label)}</text>`,
    `<rect class="${service}" ${place} width="${width.toFixed(1)}" rx="3"/>`,
    ...(isError ? [`<rect class="failed" ${place} width="5"/>`] : []),
    `<text class="note" x="${at.toFixed(1)}" y="${y + 17}" text-anchor="${anchor}">${(endMs - startMs).toFixed(1)} ms</text>`,
  ].join('\n');
}

await Bun.write(FILE, draw(rowsOf(await collectTrace())));
