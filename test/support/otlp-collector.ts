/** A collector that takes OTLP over HTTP in JSON, and keeps what it was sent. */

type Value = { stringValue?: string; intValue?: number; boolValue?: boolean; doubleValue?: number };
type KeyValue = { key: string; value: Value };

type OtlpSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: KeyValue[];
  links: { traceId: string; spanId: string }[];
  status: { code: number };
};

type OtlpPoint = {
  attributes: KeyValue[];
  asDouble?: number;
  asInt?: number;
  count?: number;
  sum?: number;
  bucketCounts?: number[];
  explicitBounds?: number[];
};

type OtlpMetric = {
  name: string;
  description: string;
  unit: string;
  sum?: { dataPoints: OtlpPoint[]; isMonotonic: boolean; aggregationTemporality: number };
  gauge?: { dataPoints: OtlpPoint[] };
  histogram?: { dataPoints: OtlpPoint[]; aggregationTemporality: number };
};

type Resource = { attributes: KeyValue[] };
type TracesBody = { resourceSpans: { resource: Resource; scopeSpans: { spans: OtlpSpan[] }[] }[] };
type MetricsBody = { resourceMetrics: { scopeMetrics: { metrics: OtlpMetric[] }[] }[] };

export type CollectedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  traceState: string;
  service: string;
  name: string;
  kind: string;
  startMs: number;
  endMs: number;
  isError: boolean;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
};

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
const ERROR = 2;

export function attributesOf(pairs: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]));
}

export class OtlpCollector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  readonly resources: Record<string, unknown>[] = [];
  /** Of the last request that had any. */
  metrics = new Map<string, OtlpMetric>();
  /** The headers of each request, by its path. */
  readonly requests: { path: string; headers: Headers }[] = [];
  readonly #server: Bun.Server<undefined>;

  /** `respond` may refuse, or never resolve. */
  constructor(private readonly respond: () => Response | Promise<Response> = () => Response.json({})) {
    this.#server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => this.#take(request) });
  }

  get url(): string {
    return this.#server.url.origin;
  }

  /** The settings of a service that sends everything here soon. */
  get settings(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
    };
  }

  named(name: string): CollectedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  async #take(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    this.requests.push({ path, headers: request.headers });
    const isJson = request.headers.get('content-type') === 'application/json';
    const body: unknown = isJson ? await request.json() : await request.bytes();
    const response = await this.respond();
    if (!response.ok || !isJson) return response;
    if (path === '/v1/traces') this.#takeSpans(body as TracesBody);
    if (path === '/v1/metrics') this.#takeMetrics(body as MetricsBody);
    return response;
  }

  #takeSpans({ resourceSpans }: TracesBody): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      const about = attributesOf(resource.attributes);
      this.resources.push(about);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId ?? null,
          traceState: span.traceState ?? '',
          service: String(about['service.name']),
          name: span.name,
          kind: KINDS[span.kind] ?? '',
          startMs: Number(BigInt(span.startTimeUnixNano) / 1000n) / 1000,
          endMs: Number(BigInt(span.endTimeUnixNano) / 1000n) / 1000,
          isError: span.status.code === ERROR,
          attributes: attributesOf(span.attributes),
          links: span.links.map(({ traceId, spanId }) => ({ traceId, spanId })),
        });
      }
    }
  }

  #takeMetrics({ resourceMetrics }: MetricsBody): void {
    const all = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
    if (all.length > 0) this.metrics = new Map(all.map((metric) => [metric.name, metric]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}
