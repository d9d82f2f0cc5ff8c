import { resolve } from 'node:path';
import { modeOf } from './harness/mode.ts';
import { stopPostgres } from './harness/postgres.ts';
import { canPin, cleanUp, stopOnSignal } from './harness/processes.ts';
import type { Tools } from './harness/tools.ts';
import { generator } from './load/load.ts';
import { benchCache } from './parts/cache.ts';
import { benchDelivery } from './parts/delivery.ts';
import { benchGrowth } from './parts/growth.ts';
import { benchInstances } from './parts/instances.ts';
import { benchLatency } from './parts/latency.ts';
import { benchList } from './parts/list.ts';
import { benchPeers } from './parts/peers.ts';
import { benchStart } from './parts/start.ts';
import { publish } from './report/publish.ts';
import {
  describeMachine,
  linedUp,
  type PartResult,
  type Results,
  saveResults,
  tableAsText,
  verdictOf,
} from './report/report.ts';
import { nextSummary, readSummary, writeSummary } from './report/summary.ts';

/**
 * `npm run bench` measures everything, `npm run bench -- list growth` only these parts. Both write docs/performance.md. `--quick` takes a minute and a half,
 * `--profile` writes a CPU profile of each Paybell that was measured. Exits with 1 when a floor is missed.
 */

const PARTS: Readonly<Record<string, (tools: Tools) => Promise<PartResult>>> = {
  list: benchList,
  growth: benchGrowth,
  delivery: benchDelivery,
  latency: benchLatency,
  start: benchStart,
  instances: benchInstances,
  cache: benchCache,
  peers: benchPeers,
};

/** Slow parts without a floor. */
const FULL_ONLY = new Set(['latency', 'instances', 'cache', 'peers']);

const args = process.argv.slice(2);
const options = new Set(args.filter((arg) => arg.startsWith('--')));
const chosen = args.filter((arg) => !arg.startsWith('--'));
const unknown = [...chosen.filter((part) => !(part in PARTS)), ...options].filter(
  (arg) => !['--quick', '--profile'].includes(arg),
);

function progress(doing: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K  ${doing}`);
}

async function main(): Promise<number> {
  if (unknown.length > 0) {
    console.error(
      `Unknown: ${unknown.join(', ')}. Parts: ${Object.keys(PARTS).join(', ')}; options: --quick, --profile`,
    );
    return 2;
  }
  const mode = modeOf(options.has('--quick'));
  const profile = (name: string) => (options.has('--profile') ? resolve(import.meta.dir, 'profiles', name) : null);
  const parts = chosen.length > 0 ? chosen : Object.keys(PARTS).filter((part) => !mode.quick || !FULL_ONLY.has(part));
  console.log(
    `Load generator: ${generator}; ${canPin ? 'it and the server are pinned to a core each' : 'not pinned to cores'}`,
  );
  console.log('Rate limits: off, RATE_LIMIT and EVENT_RATE_LIMIT; by default they would be what is measured');
  const results: PartResult[] = [];
  for (const part of parts) {
    const startedAtMs = performance.now();
    const result = await PARTS[part]?.({ mode, profile, progress: (doing) => progress(`${part}: ${doing}`) });
    if (result !== undefined) results.push(result);
    progress('');
    console.log(`${part}: ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s`);
  }
  const all: Results = {
    date: new Date().toISOString(),
    quick: mode.quick,
    parts,
    machine: await describeMachine(mode),
    rows: results.flatMap(({ rows }) => rows),
    charts: results.flatMap(({ charts }) => charts),
    comparison: results.find(({ comparison }) => comparison !== undefined)?.comparison ?? null,
    raw: Object.assign({}, ...results.map(({ raw }) => raw)),
  };
  if (all.rows.length > 0) console.log(`\n${tableAsText(all.rows)}\n`);
  if (all.comparison !== null) console.log(`\n${linedUp(all.comparison.headings, all.comparison.lines)}\n`);
  const whole = chosen.length === 0;
  console.log(`Every round is in ${saveResults(all, whole)}`);
  if (!mode.quick) {
    const summary = nextSummary(readSummary(), all, whole);
    writeSummary(summary);
    publish(summary);
  }
  return all.rows.some(({ check }) => check !== null && verdictOf(check) === 'below floor') ? 1 : 0;
}

async function stopAll(): Promise<void> {
  await stopPostgres();
  await cleanUp();
}

stopOnSignal(stopAll);

let exitCode = 1;
try {
  exitCode = await main();
} finally {
  await stopAll();
}
// Explicit, since the exit hook of the embedded PostgreSQL would otherwise end the process with 0.
process.exit(exitCode);
