import { type FailedSeed, isFailed, type SeedResult, type Shrunk } from './job.ts';
import { emptyCells, sumPairs } from './matrix.ts';
import type { Options } from './options.ts';

/** What a person reads of results. */

type Results = readonly (SeedResult | FailedSeed)[];

export type Summary = {
  readonly seeds: number;
  readonly clean: number;
  readonly failed: readonly FailedSeed[];
  /** By law: how many seeds break it, and the first of them with its violation. */
  readonly laws: Readonly<Record<string, { readonly seeds: number; readonly first: number; readonly text: string }>>;
  readonly unexpected: readonly { readonly seed: number; readonly text: string }[];
  readonly operations: number;
  readonly receipts: number;
  readonly virtualHours: number;
  /** Of one process, while others may have run beside it. */
  readonly operationsPerSecond: number;
};

export function summarize(results: Results): Summary {
  const judged = results.filter((one): one is SeedResult => !isFailed(one)).toSorted((a, b) => a.seed - b.seed);
  const laws: Record<string, { seeds: number; first: number; text: string }> = {};
  for (const { seed, violations } of judged) {
    for (const law of new Set(violations.map((one) => one.law))) {
      const known = laws[law] ?? { seeds: 0, first: seed, text: violations.find((one) => one.law === law)?.text ?? '' };
      laws[law] = { ...known, seeds: known.seeds + 1 };
    }
  }
  const sum = (of: (result: SeedResult) => number) => judged.reduce((total, one) => total + of(one), 0);
  const realS = sum(({ realMs }) => realMs) / 1_000;
  return {
    seeds: results.length,
    clean: judged.filter(({ violations, unexpected }) => violations.length + unexpected.length === 0).length,
    failed: results.filter(isFailed),
    laws,
    unexpected: judged.flatMap(({ seed, unexpected }) => unexpected.slice(0, 1).map((text) => ({ seed, text }))),
    operations: sum(({ operations }) => operations),
    receipts: sum(({ receipts }) => receipts),
    virtualHours: Math.round(sum(({ virtualMs }) => virtualMs) / 36_000) / 100,
    operationsPerSecond: realS === 0 ? 0 : Math.round(sum(({ operations }) => operations) / realS),
  };
}

export function isClean({ seeds, clean }: Summary): boolean {
  return seeds === clean;
}

function numberOf(law: string): number {
  return Number(law.slice(1));
}

/** The command that repeats a run. */
function repeatLine(
  { network, operations, engine, instances }: Options,
  seed: number,
  only?: readonly number[],
): string {
  const parts = [`--seed ${seed}`];
  if (network !== 'evm') parts.push(`--network ${network}`);
  if (operations !== 120) parts.push(`--operations ${operations}`);
  if (engine !== 'sqlite') parts.push(`--engine ${engine}`);
  if (instances !== null) parts.push(`--instances ${instances}`);
  if (only !== undefined) parts.push(`--only ${only.join(',')}`);
  return `npm run simulate -- ${parts.join(' ')}`;
}

export function reportText(results: Results, options: Options, names: readonly string[]): string {
  const summary = summarize(results);
  const { seeds, clean, operations, receipts, virtualHours, operationsPerSecond } = summary;
  const lines = [
    `${seeds} seeds, ${clean} clean; ${operations} operations, ${receipts} requests, ${virtualHours} virtual hours, ` +
      `${operationsPerSecond} operations/s`,
  ];
  const laws = Object.entries(summary.laws).toSorted(([a], [b]) => numberOf(a) - numberOf(b));
  for (const [law, { seeds: broken, first, text }] of laws)
    lines.push(`${law}: ${broken} seeds; seed ${first}: ${text}`);
  for (const { seed, text } of summary.unexpected) lines.push(`unexpected error in seed ${seed}: ${text}`);
  for (const { seed, failure } of summary.failed) lines.push(`seed ${seed} failed: ${failure}`);
  const first = Math.min(...laws.map(([, one]) => one.first));
  if (laws.length > 0) lines.push(`repeat: ${repeatLine(options, first)}`);
  for (const one of results)
    if (!isFailed(one) && one.shrunk !== undefined) lines.push(...shrunkLines(one.shrunk, options, one));
  if (options.showsMatrix) lines.push(...matrixLines(results, names));
  return lines.join('\n');
}

function shrunkLines({ law, violation, operations }: Shrunk, options: Options, { seed }: SeedResult): string[] {
  const only = operations.map(({ index }) => index);
  return [
    `${law} with ${operations.length} operations: ${violation}`,
    ...operations.map(({ index, name, atMs }) => `  ${(atMs / 1_000).toFixed(3).padStart(9)} s  ${name} (${index})`),
    `repeat: ${repeatLine(options, seed, only)} --trace`,
  ];
}

function matrixLines(results: Results, names: readonly string[]): string[] {
  const pairs = sumPairs(results.flatMap((one) => (isFailed(one) ? [] : [one.pairs])));
  const empty = Map.groupBy(emptyCells(names, pairs), ([name]) => name);
  const all = (names.length * (names.length - 1)) / 2;
  const met = Object.values(pairs).reduce((sum, count) => sum + count, 0);
  const missing = [...empty.values()].reduce((sum, list) => sum + list.length, 0);
  return [
    `${all - missing} of ${all} pairs of operations met within one event or payment, ${met} times in all`,
    ...[...empty].map(([name, cells]) => `  ${name} never met ${cells.map(([, other]) => other).join(', ')}`),
  ];
}
