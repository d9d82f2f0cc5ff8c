import { expect } from 'bun:test';
import parsePrometheusTextFormat from 'parse-prometheus-text-format';

export type Sample = { name: string; labels: Record<string, string>; value: string };
export type Scraped = { names: string[]; samples: Sample[] };

const NUMBER = /^([+-]Inf|-?\d+(\.\d+)?(e[+-]?\d+)?)$/;
const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/**
 * Parses with a third-party parser, which throws on invalid syntax, and checks what `promtool check metrics` requires
 * beyond that. The parser drops the labels of histograms, so the lines are also parsed here.
 */
export function parseMetrics(text: string): Scraped {
  expect(text).toEndWith('\n');
  const parsed = parsePrometheusTextFormat(text) as { name: string; help: string; type: string }[];
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(readLine);
  for (const { name, value } of samples) expect([name, value]).toEqual([name, expect.stringMatching(NUMBER)]);
  const keys = samples.map(({ name, labels }) => JSON.stringify([name, labels]));
  expect(new Set(keys).size).toBe(keys.length);
  for (const { name, help, type } of parsed) {
    expect(help).toEndWith('.');
    expect([name, type === 'COUNTER']).toEqual([name, name.endsWith('_total')]);
    if (type === 'HISTOGRAM') expectCumulative(name, samples);
  }
  return { names: parsed.map(({ name }) => name), samples };
}

function readLine(line: string): Sample {
  const [, name = 'unreadable', labels = '', value = line] = LINE.exec(line) ?? [];
  const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, JSON.parse(`"${text}"`)]);
  return { name, labels: Object.fromEntries(pairs), value };
}

/** The buckets of each series never decrease, and the last one is the count. */
function expectCumulative(name: string, samples: readonly Sample[]): void {
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
  const series = Object.groupBy(buckets, ({ labels: { le, ...labels } }) => JSON.stringify(labels));
  for (const [labels, ofOne = []] of Object.entries(series)) {
    const values = ofOne.map(({ value }) => Number(value));
    expect(values).toEqual(values.toSorted((a, b) => a - b));
    expect(ofOne.at(-1)?.labels.le).toBe('+Inf');
    expect(values.at(-1)).toBe(sampleOf({ names: [], samples: [...samples] }, `${name}_count`, JSON.parse(labels)));
  }
}

/** The value of the series that has these labels; 0 when there is none. */
export function sampleOf({ samples }: Scraped, name: string, labels: Record<string, string> = {}): number {
  const found = samples.find(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return Number(found?.value ?? 0);
}
