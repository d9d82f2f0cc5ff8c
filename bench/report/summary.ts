import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeMachine } from '../../docs/publish.ts';
import type { Chart, Comparison, Results, Row } from './report.ts';

/** Reads and writes the latest figures of each part, from which docs/performance.md is generated. */

export type Summary = {
  /** Date and machine of the last complete run. */
  readonly date: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly rows: readonly DatedRow[];
  readonly charts: readonly Chart[];
  readonly comparison: PublishedComparison;
};

/** A part that was measured alone has a later date than the complete run. */
export type DatedRow = Row & { readonly date: string };

/** The comparison has its own date and machine, because few machines have the programs that it needs. */
export type PublishedComparison = Comparison & { readonly date: string; readonly machine: string };

const PATH = resolve(import.meta.dir, '../results/summary.json');
const LINE_WIDTH = 200;
/** More digits than the page shows, and fewer than a measurement has. */
const DIGITS = 6;

export function readSummary(): Summary {
  return JSON.parse(readFileSync(PATH, 'utf8')) as Summary;
}

export function writeSummary(summary: Summary): void {
  writeFileSync(PATH, `${asJson(summary)}\n`);
}

/** A complete run replaces all figures, and a run of some parts replaces the rows and charts of these parts. */
export function nextSummary(previous: Summary, results: Results, isWhole: boolean): Summary {
  const { machine } = results;
  const date = results.date.slice(0, 10);
  const comparison =
    results.comparison === null ? previous.comparison : { date, machine: describeMachine(), ...results.comparison };
  const rows = results.rows.map((row) => ({ ...row, date }));
  if (isWhole) return { date, machine, rows, charts: results.charts, comparison };
  return {
    ...previous,
    rows: replaced(previous.rows, rows, ({ what }) => what),
    charts: replaced(previous.charts, results.charts, ({ name }) => name),
    comparison,
  };
}

/** Each item with the name of an earlier one takes its place; the others follow. */
function replaced<Item>(previous: readonly Item[], next: readonly Item[], nameOf: (item: Item) => string): Item[] {
  const byName = new Map([...previous, ...next].map((item) => [nameOf(item), item]));
  return [...byName.values()];
}

/** Values that fit a line stay on it, so that the file has a line for each row and each bar. */
export function asJson(value: unknown, indent = ''): string {
  const line = JSON.stringify(value, (_, each) => (typeof each === 'number' ? Number(each.toPrecision(DIGITS)) : each));
  if (typeof value !== 'object' || value === null || indent.length + line.length <= LINE_WIDTH) return line;
  const inner = `${indent}  `;
  const expanded = (open: string, items: readonly string[], close: string) =>
    `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`;
  if (Array.isArray(value)) {
    const items = value.map((item) => asJson(item, inner));
    return expanded('[', items, ']');
  }
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${asJson(member, inner)}`);
  return expanded('{', members, '}');
}
