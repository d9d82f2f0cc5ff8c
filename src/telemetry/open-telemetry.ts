import { hostname } from 'node:os';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { type Signal, telemetryHeaders, telemetryUrl } from '../config/open-telemetry.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import type { Registry } from '../metrics/registry.ts';
import { version } from '../version.ts';
import { LossReporter } from './loss-reporter.ts';
import { RegistryProducer } from './registry-producer.ts';
import { createTracer, SpanIds } from './spans.ts';
import type { Tracer } from './tracer.ts';

/** Traces and metrics by OTLP over HTTP, as the `OTEL_*` settings say. Loaded only if these name an endpoint. */
export type Telemetry = {
  /** Null if only metrics are sent. */
  readonly tracer: Tracer | null;
  /** Sends what is left. Takes as long as the collector does. */
  readonly stop: () => Promise<void>;
};

export async function startTelemetry(config: Config, log: Logger, registry: Registry): Promise<Telemetry> {
  const losses = new LossReporter(log);
  diag.setLogger(losses.diagnostics, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const resource = resourceOf(config);
  const traces = await startTraces(config, resource, losses);
  const metrics = await startMetrics(config, resource, losses, registry);
  return {
    tracer: traces?.tracer ?? null,
    stop: async () => {
      await Promise.allSettled([traces?.provider.shutdown(), metrics?.shutdown()]);
    },
  };
}

function resourceOf(config: Config): Resource {
  const given = config.OTEL_RESOURCE_ATTRIBUTES;
  return resourceFromAttributes({
    'service.version': version,
    'service.instance.id': crypto.randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
    'paybell.role': config.ROLE,
    ...given,
    'service.name': config.OTEL_SERVICE_NAME ?? given['service.name'] ?? 'paybell',
  });
}

async function startTraces(config: Config, resource: Resource, losses: LossReporter) {
  const options = exporterOptions(config, 'TRACES');
  if (options === null) return null;
  const { OTLPTraceExporter } =
    config.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  const exporter: SpanExporter = losses.watchSpans(new OTLPTraceExporter(options));
  const processor = new BatchSpanProcessor(exporter, {
    scheduledDelayMillis: config.OTEL_BSP_SCHEDULE_DELAY,
    maxQueueSize: config.OTEL_BSP_MAX_QUEUE_SIZE,
    maxExportBatchSize: Math.min(config.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, config.OTEL_BSP_MAX_QUEUE_SIZE),
  });
  const idGenerator = new SpanIds();
  const provider = new BasicTracerProvider({
    resource,
    idGenerator,
    sampler: samplerOf(config),
    spanProcessors: [processor],
  });
  return { provider, tracer: createTracer(provider.getTracer('paybell', version), idGenerator) };
}

async function startMetrics(config: Config, resource: Resource, losses: LossReporter, registry: Registry) {
  const options = exporterOptions(config, 'METRICS');
  if (options === null) return null;
  const { OTLPMetricExporter } =
    config.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  const exporter: PushMetricExporter = losses.watchMetrics(new OTLPMetricExporter(options));
  const everyMs = config.OTEL_METRIC_EXPORT_INTERVAL;
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: everyMs,
    exportTimeoutMillis: Math.min(everyMs, config.OTEL_EXPORTER_OTLP_TIMEOUT),
    metricProducers: [new RegistryProducer(registry, resource)],
  });
  return new MeterProvider({ resource, readers: [reader] });
}

type ExporterOptions = NonNullable<
  ConstructorParameters<typeof import('@opentelemetry/exporter-trace-otlp-http').OTLPTraceExporter>[0]
>;

function exporterOptions(config: Config, signal: Signal): ExporterOptions | null {
  const url = telemetryUrl(config, signal);
  if (url === null) return null;
  return {
    url,
    headers: telemetryHeaders(config, signal),
    timeoutMillis: config.OTEL_EXPORTER_OTLP_TIMEOUT,
    // An enumeration whose values are the texts of the setting, in a package that is not imported here.
    compression: config.OTEL_EXPORTER_OTLP_COMPRESSION as NonNullable<ExporterOptions['compression']>,
    userAgent: `Paybell/${version}`,
  };
}

function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Config): Sampler {
  const root = rootSampler(name.replace('parentbased_', ''), ratio);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
}
