import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, release, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { asMarkdown } from '../../docs/publish.ts';
import packageJson from '../../package.json';
import type { Mode } from '../harness/mode.ts';
import { postgresVersion } from '../harness/postgres.ts';
import { canPin } from '../harness/processes.ts';
import type { Rounds } from '../harness/rounds.ts';
import { CONNECTIONS, generator } from '../load/load.ts';

/** A row of the table. `figures` are the two sides of the ratio, or the measurement itself where there is no ratio. */
export type Row = {
  readonly what: string;
  readonly figures: string;
  /** Null for a measurement without a floor, which is shown as context. */
  readonly check: Check | null;
};

export type Check = {
  readonly value: number;
  readonly unit: '' | ' s' | ' ms' | ' µs' | ' MB';
  readonly better: 'higher' | 'lower';
  readonly floor: number;
  readonly target: number;
};

export type Bar = { readonly label: string; readonly value: number; readonly note?: string };
export type Chart = {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly Bar[];
};

/** A table of its own, with a column for each service that was measured. */
export type Comparison = { readonly headings: readonly string[]; readonly lines: readonly (readonly string[])[] };

/** Rows of the table, charts, and every single measurement that they come from. */
export type PartResult = {
  readonly rows: readonly Row[];
  readonly charts: readonly Chart[];
  readonly comparison?: Comparison;
  readonly raw: Readonly<Record<string, Rounds>>;
};

export type Results = {
  readonly date: string;
  readonly quick: boolean;
  readonly parts: readonly string[];
  readonly machine: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
  readonly charts: readonly Chart[];
  /** With the peers, where they were measured. */
  readonly comparison: Comparison | null;
  readonly raw: Readonly<Record<string, Rounds>>;
};

export function higher(value: number, floor: number, target: number): Check {
  return { value, unit: '', better: 'higher', floor, target };
}

export function lower(value: number, floor: number, target: number, unit: Check['unit'] = ''): Check {
  return { value, unit, better: 'lower', floor, target };
}

export type Verdict = 'target met' | 'floor met' | 'below floor';

export function verdictOf({ value, better, floor, target }: Check): Verdict {
  const meets = (bound: number) => (better === 'higher' ? value >= bound : value <= bound);
  return meets(target) ? 'target met' : meets(floor) ? 'floor met' : 'below floor';
}

/** `10 k`, `1 M`. */
export function shortCount(count: number): string {
  return count >= 1_000_000 ? `${count / 1_000_000} M` : `${count / 1_000} k`;
}

export function amount(value: number): string {
  if (value >= 10_000) return `${(value / 1_000).toFixed(1)} k`;
  return value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toPrecision(2);
}

const HEADINGS = ['measured', 'figures', 'ratio', 'floor', 'target', 'result'];

function cells({ what, figures, check }: Row): string[] {
  if (check === null) return [what, figures, '', '', '', ''];
  const bound = (value: number) => `${check.better === 'higher' ? '≥' : '≤'} ${value}${check.unit}`;
  const shown = check.value < 10 ? check.value.toFixed(2) : check.value.toFixed(0);
  return [what, figures, shown + check.unit, bound(check.floor), bound(check.target), verdictOf(check)];
}

export function tableAsText(rows: readonly Row[]): string {
  return linedUp(HEADINGS, rows.map(cells));
}

export function linedUp(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ''))));
  const pad = (text: string, width = 0) => text + ' '.repeat(width - Bun.stringWidth(text));
  const shown = lines.map((line) => line.map((cell, column) => pad(cell, widths[column])).join('  '));
  return [shown[0], widths.map((width) => '─'.repeat(width)).join('  '), ...shown.slice(1)].join('\n');
}

/** `rows` have the date of their measurement, because a part can be measured alone. */
export function tableAsMarkdown(rows: readonly (Row & { readonly date: string })[]): string {
  return asMarkdown(
    [...HEADINGS, 'date'],
    rows.map((row) => [...cells(row), row.date]),
  );
}

export async function describeMachine(mode: Mode): Promise<Record<string, string>> {
  const node = Bun.spawn(['node', '--version'], { stdout: 'pipe' });
  const packages: Record<string, string> = { ...packageJson.dependencies, ...packageJson.devDependencies };
  return {
    processor: `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores`,
    memory: `${(totalmem() / 1024 ** 3).toFixed(0)} GiB`,
    system: `${platform()} ${release().match(/^\d+\.\d+/)?.[0] ?? ''} ${arch()}`,
    bun: Bun.version,
    node: (await node.stdout.text()).trim(),
    postgres: (await postgresVersion()) ?? 'not used',
    peers: `fastify ${packages.fastify}, pg ${packages.pg}, bullmq ${packages.bullmq}`,
    load: `${generator}, ${CONNECTIONS} connections, one thread`,
    cores: canPin ? 'server and load generator pinned to a core each' : 'not pinned',
    rounds: `${mode.rounds} of ${mode.roundSeconds} s, interleaved`,
  };
}

/** Writes one file a day, with a suffix for quick and partial runs. Git ignores them: summary.json is in the repository. */
export function saveResults(results: Results, allParts: boolean): string {
  const suffix = [...(results.quick ? ['quick'] : []), ...(allParts ? [] : results.parts)].map((word) => `-${word}`);
  const path = join('bench/results', `${results.date.slice(0, 10)}${suffix.join('')}.json`);
  mkdirSync(resolve(import.meta.dir, '../results'), { recursive: true });
  writeFileSync(resolve(import.meta.dir, '../..', path), `${JSON.stringify(results, null, 2)}\n`);
  return path;
}
