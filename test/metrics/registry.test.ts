import { describe, expect, test } from 'bun:test';
import { Registry } from '../../src/metrics/registry.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';

describe('the text', () => {
  test('has each metric with its help and type, and each series with its labels', async () => {
    const registry = new Registry();
    registry.counter('requests_total', 'Requests.').inc(3);
    registry.counters('responses_total', 'Responses.', ['method', 'status']).of('GET', 200).inc();
    registry.read('depth', 'Depth.', () => 1.5);
    expect(await registry.text()).toBe(
      [
        '# HELP requests_total Requests.',
        '# TYPE requests_total counter',
        'requests_total 3',
        '# HELP responses_total Responses.',
        '# TYPE responses_total counter',
        'responses_total{method="GET",status="200"} 1',
        '# HELP depth Depth.',
        '# TYPE depth gauge',
        'depth 1.5',
        '',
      ].join('\n'),
    );
  });

  test('counts a value into the first bucket that holds it, and every later one', async () => {
    const registry = new Registry();
    const histogram = registry.histogram('seconds', 'Seconds.', [0.1, 1]);
    for (const value of [0.1, 0.11, 1, 7]) histogram.observe(value);
    expect((await registry.text()).split('\n').slice(2, -1)).toEqual([
      'seconds_bucket{le="0.1"} 1',
      'seconds_bucket{le="1"} 3',
      'seconds_bucket{le="+Inf"} 4',
      'seconds_sum 8.21',
      'seconds_count 4',
    ]);
  });

  test('escapes label values', async () => {
    const registry = new Registry();
    const value = 'a "quoted" \\ back\nslash';
    registry.counters('odd_total', 'Odd.', ['name']).of(value).inc();
    expect(sampleOf(parseMetrics(await registry.text()), 'odd_total', { name: value })).toBe(1);
  });

  test('leaves out a series without a value, and writes infinities as Prometheus reads them', async () => {
    const registry = new Registry();
    registry.read('unknown', 'Unknown.', () => null);
    registry.read('endless', 'Endless.', () => Number.POSITIVE_INFINITY);
    const text = await registry.text();
    expect(text).not.toMatch(/^unknown/m);
    expect(text).toContain('\nendless +Inf\n');
  });

  test('waits for values that have to be prepared', async () => {
    const registry = new Registry();
    let depth = 0;
    registry.beforeScrape(async () => {
      depth = 7;
    });
    registry.read('depth', 'Depth.', () => depth);
    expect(await registry.text()).toContain('\ndepth 7\n');
  });
});

test('the same labels are the same series, and others are others', () => {
  const family = new Registry().counters('a_total', 'A.', ['x', 'y']);
  expect(family.of('1', 2)).toBe(family.of('1', 2));
  expect(family.of('1', 2)).not.toBe(family.of('1', 3));
  expect(family.of('1', 2)).not.toBe(family.of('2', 2));
});

test('a label without a bound ends in one series named other', async () => {
  const registry = new Registry();
  const family = registry.counters('a_total', 'A.', ['id', 'kind']);
  for (let id = 0; id < 2_500; id++) family.of(`id-${id}`, 'x').inc();
  const metrics = parseMetrics(await registry.text());
  expect(metrics.samples).toHaveLength(2_001);
  expect(sampleOf(metrics, 'a_total', { id: 'other', kind: 'other' })).toBe(500);
});

test('two metrics of one name are rejected', () => {
  const registry = new Registry();
  registry.counter('a_total', 'A.');
  expect(() => registry.read('a_total', 'A.', () => 1)).toThrow('a_total');
});
