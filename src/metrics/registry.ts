/**
 * Counters, histograms and gauges in the Prometheus text format 0.0.4. Written here because an observation takes 20 to
 * 80 ns, against 400 to 1,000 ns with prom-client, and a request makes several (docs/decisions/contract.md).
 */

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Bounds the memory of a metric whose labels were misjudged: further series are counted together as `other`. */
const MAX_SERIES = 2_000;

export type LabelValue = string | number;

export class Counter {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }
}

export class Histogram {
  readonly counts: Float64Array;
  sum = 0;

  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index++;
    this.counts[index] = (this.counts[index] as number) + 1;
    this.sum += value;
  }
}

type Branch<Series> = Map<LabelValue, Branch<Series> | Series>;

/** The series of one metric by label values. `of` finds one without allocating a key. */
export class Family<Series> {
  readonly #root: Branch<Series> = new Map();
  readonly #series: { values: readonly LabelValue[]; series: Series }[] = [];

  constructor(
    readonly labels: readonly string[],
    private readonly make: () => Series,
  ) {}

  of(...values: LabelValue[]): Series {
    let found: Branch<Series> | Series | undefined = this.#root;
    for (const value of values) {
      found = (found as Branch<Series>).get(value);
      if (found === undefined) return this.#add(values);
    }
    return found as Series;
  }

  entries(): Iterable<{ values: readonly LabelValue[]; series: Series }> {
    return this.#series;
  }

  #add(values: readonly LabelValue[]): Series {
    const full = this.#series.length >= MAX_SERIES;
    const other = this.labels.map(() => 'other');
    if (full && values.some((value, index) => value !== other[index])) return this.of(...other);
    let branch = this.#root;
    for (const value of values.slice(0, -1)) {
      const next = (branch.get(value) as Branch<Series> | undefined) ?? new Map();
      branch.set(value, next);
      branch = next;
    }
    const series = this.make();
    branch.set(values.at(-1) ?? '', series);
    this.#series.push({ values, series });
    return series;
  }
}

/** Reads a value at a scrape; null leaves the metric out. */
export type Read = () => number | null;
export type ReadLabelled = () => Iterable<readonly [values: readonly LabelValue[], value: number]>;

/** One series of a metric at the moment of a scrape. */
export type Sample = { readonly values: readonly LabelValue[]; readonly value: number | Histogram };

export type Metric = {
  readonly name: string;
  readonly help: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly samples: () => Iterable<Sample>;
};

export class Registry {
  readonly #metrics = new Map<string, Metric>();
  readonly #beforeScrape: (() => Promise<void>)[] = [];

  counter(name: string, help: string): Counter {
    const counter = new Counter();
    const samples = () => [{ values: [], value: counter.value }];
    this.#add({ name, help, kind: 'counter', labels: [], samples });
    return counter;
  }

  counters(name: string, help: string, labels: readonly string[]): Family<Counter> {
    const family = new Family(labels, () => new Counter());
    const samples = function* () {
      for (const { values, series } of family.entries()) yield { values, value: series.value };
    };
    this.#add({ name, help, kind: 'counter', labels, samples });
    return family;
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#add({ name, help, kind: 'histogram', labels: [], samples: () => [{ values: [], value: histogram }] });
    return histogram;
  }

  histograms(name: string, help: string, bounds: readonly number[], labels: readonly string[]): Family<Histogram> {
    const family = new Family(labels, () => new Histogram(bounds));
    const samples = function* () {
      for (const { values, series } of family.entries()) yield { values, value: series };
    };
    this.#add({ name, help, kind: 'histogram', labels, samples });
    return family;
  }

  /** `kind` is `counter` for a value that only grows. */
  read(name: string, help: string, read: Read, kind: 'gauge' | 'counter' = 'gauge'): void {
    const samples = () => {
      const value = read();
      return value === null ? [] : [{ values: [], value }];
    };
    this.#add({ name, help, kind, labels: [], samples });
  }

  readLabelled(name: string, help: string, labels: readonly string[], read: ReadLabelled): void {
    const samples = function* () {
      for (const [values, value] of read()) yield { values, value };
    };
    this.#add({ name, help, kind: 'gauge', labels, samples });
  }

  /** Prepares values that need the store. It must end soon and must not reject. */
  beforeScrape(prepare: () => Promise<void>): void {
    this.#beforeScrape.push(prepare);
  }

  get names(): string[] {
    return [...this.#metrics.keys()];
  }

  /** All metrics, with their values as they are now. */
  async scrape(): Promise<Iterable<Metric>> {
    await Promise.all(this.#beforeScrape.map((prepare) => prepare()));
    return this.#metrics.values();
  }

  async text(): Promise<string> {
    let text = '';
    for (const metric of await this.scrape()) {
      const { name, help, kind } = metric;
      text += `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
      for (const sample of metric.samples()) text += linesOf(metric, sample);
    }
    return text;
  }

  #add(metric: Metric): void {
    if (this.#metrics.has(metric.name)) throw new Error(`the metric ${metric.name} is registered twice`);
    this.#metrics.set(metric.name, metric);
  }
}

function linesOf({ name, labels }: Metric, { values, value }: Sample): string {
  if (typeof value === 'number') return `${name}${labelText(labels, values)} ${number(value)}\n`;
  return histogramLines(name, labels, values, value);
}

function histogramLines(
  name: string,
  labels: readonly string[],
  values: readonly LabelValue[],
  { bounds, counts, sum }: Histogram,
): string {
  let text = '';
  let total = 0;
  for (const [index, count] of counts.entries()) {
    total += count;
    const le = bounds[index] ?? '+Inf';
    text += `${name}_bucket${labelText([...labels, 'le'], [...values, le])} ${total}\n`;
  }
  text += `${name}_sum${labelText(labels, values)} ${number(sum)}\n`;
  return `${text}${name}_count${labelText(labels, values)} ${total}\n`;
}

function labelText(labels: readonly string[], values: readonly LabelValue[]): string {
  if (labels.length === 0) return '';
  return `{${labels.map((label, index) => `${label}="${escaped(String(values[index] ?? ''))}"`).join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

/** Prometheus writes infinities as +Inf and -Inf. */
function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
