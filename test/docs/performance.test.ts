import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { chartsOf, sectionsOf } from '../../bench/report/publish.ts';
import type { Results, Row } from '../../bench/report/report.ts';
import { asJson, type DatedRow, nextSummary, readSummary, type Summary } from '../../bench/report/summary.ts';
import { readSection } from '../../docs/publish.ts';

const IMAGES = resolve(import.meta.dir, '../../docs/images');

describe('docs/performance.md', () => {
  test('shows bench/results/summary.json; if this fails, run: npx bun bench/report/publish.ts', async () => {
    const summary = readSummary();
    for (const [name, text] of Object.entries(sectionsOf(summary)))
      expect(readSection('performance.md', 'bench', name)).toBe(text);
    for (const [name, svg] of Object.entries(chartsOf(summary)))
      expect(await Bun.file(resolve(IMAGES, name)).text()).toBe(svg);
  });
});

describe('the summary of a run', () => {
  const row = (what: string): Row => ({ what, figures: '1', check: null });
  const dated = (what: string, date = '2026-01-01'): DatedRow => ({ ...row(what), date });
  const previous: Summary = {
    date: '2026-01-01',
    machine: { bun: '1' },
    rows: [dated('before'), dated('delivery'), dated('after')],
    charts: [],
    comparison: { date: '2026-01-01', machine: 'one', headings: ['', 'Paybell'], lines: [] },
  };
  const results: Results = {
    date: '2026-02-02T10:00:00.000Z',
    quick: false,
    parts: ['list'],
    machine: { bun: '2' },
    rows: [row('now')],
    charts: [],
    comparison: null,
    raw: { list: { sqlite: [{ rate: 1 }] } },
  };

  test('replaces the previous one, without the rounds and with the last comparison', () => {
    const { date, machine, rows, charts, comparison } = nextSummary(previous, results, true);
    expect({ date, machine, rows, charts }).toEqual({
      date: '2026-02-02',
      machine: { bun: '2' },
      rows: [dated('now', '2026-02-02')],
      charts: [],
    });
    expect(comparison).toEqual(previous.comparison);
    expect(nextSummary(previous, results, true)).not.toHaveProperty('raw');
  });

  test('replaces the rows of a part in their places after a run of this part', () => {
    const { date, machine, rows } = nextSummary(previous, { ...results, rows: [row('delivery'), row('new')] }, false);
    expect({ date, machine }).toEqual({ date: previous.date, machine: previous.machine });
    expect(rows).toEqual([
      dated('before'),
      dated('delivery', '2026-02-02'),
      dated('after'),
      dated('new', '2026-02-02'),
    ]);
  });

  test('changes only the comparison after a run of the peers', () => {
    const headings = ['', 'Paybell', 'BullMQ'];
    const next = nextSummary(previous, { ...results, rows: [], comparison: { headings, lines: [] } }, false);
    expect(next).toEqual({ ...previous, comparison: expect.objectContaining({ date: '2026-02-02', headings }) });
  });

  test('is written with a line for each row, and is the same when it is read', () => {
    const summary = {
      rows: Array.from({ length: 9 }, (_, index) => row(`a measurement ${index}`)),
      value: 0.123456789,
    };
    const text = asJson(summary);
    expect(text.split('\n')).toHaveLength(9 + 5);
    expect(JSON.parse(text)).toEqual({ ...summary, value: 0.123457 });
  });
});
