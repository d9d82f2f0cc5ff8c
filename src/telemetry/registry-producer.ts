import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Histogram, Metric, Registry, Sample } from '../metrics/registry.ts';
import { version } from '../version.ts';

/** The metrics of `/metrics` for OpenTelemetry's SDK, under the same names: nothing is counted twice. */
export class RegistryProducer implements MetricProducer {
  readonly #startTime = timeOf(Date.now());

  constructor(
    private readonly registry: Registry,
    private readonly resource: Resource,
  ) {}

  async collect(): Promise<CollectionResult> {
    const metrics: MetricData[] = [];
    const endTime = timeOf(Date.now());
    for (const metric of await this.registry.scrape()) {
      const pointsOf = <Value>(read: (value: Sample['value']) => Value) =>
        [...metric.samples()].map(({ values, value }) => ({
          startTime: this.#startTime,
          endTime,
          attributes: attributesOf(metric.labels, values),
          value: read(value),
        }));
      metrics.push(dataOf(metric, pointsOf));
    }
    const scopeMetrics = [{ scope: { name: 'paybell', version }, metrics }];
    return { resourceMetrics: { resource: this.resource, scopeMetrics }, errors: [] };
  }
}

type Points = <Value>(read: (value: Sample['value']) => Value) => {
  startTime: HrTime;
  endTime: HrTime;
  attributes: Attributes;
  value: Value;
}[];

function dataOf({ name, help, kind }: Metric, pointsOf: Points): MetricData {
  const descriptor = { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE };
  const described = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  if (kind === 'histogram') {
    return { ...described, dataPointType: DataPointType.HISTOGRAM, dataPoints: pointsOf(toHistogram) };
  }
  const dataPoints = pointsOf(Number);
  return kind === 'counter'
    ? { ...described, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...described, dataPointType: DataPointType.GAUGE, dataPoints };
}

function toHistogram(value: Sample['value']) {
  const { bounds, counts, sum } = value as Histogram;
  const count = counts.reduce((total, each) => total + each, 0);
  return { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count };
}

/** Names end with their unit, as Prometheus has them. */
function unitOf(name: string): string {
  if (/_seconds(?:_total)?$/.test(name)) return 's';
  return name.endsWith('_bytes') ? 'By' : '';
}

function attributesOf(labels: readonly string[], values: readonly (string | number)[]): Attributes {
  return Object.fromEntries(labels.map((label, index) => [label, String(values[index] ?? '')]));
}

function timeOf(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
