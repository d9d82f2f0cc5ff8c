import { resolve } from 'node:path';
import { describeFinding, type Finding, ROOT, readFindings } from './findings.ts';
import { findMoves } from './moves.ts';

/**
 * Compares the findings of each file with its number in prose-findings.json. A number may fall and never rise. A file
 * without a number may have no findings, and a file that was moved keeps its number.
 */

export type Counts = Readonly<Record<string, number>>;
type Findings = ReadonlyMap<string, readonly Finding[]>;

const STORE = 'test/project/prose-findings.json';
const ACCEPT = 'npm run prose';

export type Report = {
  /** Lines about files that have more findings than their number. */
  readonly risen: readonly string[];
  /** Lines about numbers whose file does not exist. */
  readonly removed: readonly string[];
};

export async function checkProse(): Promise<Report & { readonly found: Counts }> {
  const stored = (await Bun.file(resolve(ROOT, STORE)).json()) as Counts;
  const findings = await readFindings();
  const missing = Object.keys(stored).filter((file) => !findings.has(file));
  const moves = findMoves(ROOT, missing, (path) => findings.has(path));
  const found = Object.fromEntries([...findings].map(([file, { length }]) => [file, length]));
  return { ...compareFindings(stored, findings, moves), found };
}

export function compareFindings(stored: Counts, findings: Findings, moves: ReadonlyMap<string, string>): Report {
  const allowed = new Map(Object.entries(stored));
  for (const [from, to] of moves) allowed.set(to, (allowed.get(to) ?? 0) + (stored[from] ?? 0));
  const removed = Object.keys(stored).filter((file) => !findings.has(file) && !moves.has(file));
  const risen = [...findings].filter(([file, { length }]) => length > (allowed.get(file) ?? 0));
  return {
    risen: risen.flatMap(([file, found]) => [
      `${file} has findings above its limit (${found.length} > ${allowed.get(file) ?? 0}):`,
      ...found.map(describeFinding),
      `Rewrite the new sentences; docs/voice.md has the rules. To list them: npx bun test/project/prose.ts ${file}`,
      ...(removed.length > 0 && !allowed.has(file)
        ? [`If ${file} was moved, add it to git. Its number then moves too with: ${ACCEPT}`]
        : []),
    ]),
    removed:
      removed.length === 0
        ? []
        : [`${STORE} lists files that do not exist. Run: ${ACCEPT}`, ...removed.map((file) => `  ${file}`)],
  };
}

/** Writes the numbers, in the order of the paths and one to a line. */
export async function storeCounts(found: Counts): Promise<void> {
  const entries = Object.entries(found).filter(([, number]) => number > 0);
  const sorted = Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  await Bun.write(resolve(ROOT, STORE), `${JSON.stringify(sorted, null, 2)}\n`);
}
