import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { emptyStore } from '../harness/empty-store.ts';
import { stopPostgres } from '../harness/postgres.ts';
import { cleanUp, type Server, startProgram } from '../harness/processes.ts';
import {
  interleave,
  medianOf,
  medianRatio,
  quantile,
  type Rounds,
  type Sample,
  type Subject,
} from '../harness/rounds.ts';

/**
 * The processor time of the store's functions for one event, without HTTP: to accept it, and to record its deliveries, in groups of 64.
 * PostgreSQL's own time is not part of it. With another checkout that is installed, both run in alternation.
 * `npx bun bench/store/hot-path.ts ../before --engine sqlite --rounds 15 --webhooks 1`
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: 'string' },
    rounds: { type: 'string', default: '15' },
    webhooks: { type: 'string', default: '1' },
  },
});
const GROUP = 64;
const GROUPS = 60;
/** The just-in-time compiler makes the functions faster over their first tens of thousands of events. */
const WARM_UP = 500;
const ROUNDS = Number(values.rounds);
const WEBHOOKS = Number(values.webhooks);
const [other] = positionals;

async function start(engine: Engine, checkout: string): Promise<Server> {
  const input = { checkout, databaseUrl: await emptyStore(engine), webhooks: WEBHOOKS, group: GROUP };
  const server = await startProgram('store/hot-path-process.ts', input, 'subject');
  await measure(server, Math.ceil(WARM_UP / WEBHOOKS));
  return server;
}

async function measure(server: Server, groups: number): Promise<Sample> {
  const response = await fetch(`${server.url}/?groups=${groups}`);
  const { accept, record } = (await response.json()) as { accept: number; record: number };
  return { accept, record, both: accept + record };
}

async function compare(engine: Engine): Promise<string[][]> {
  const now = await start(engine, process.cwd());
  const before = other === undefined ? null : await start(engine, other);
  const groups = Math.ceil(GROUPS / WEBHOOKS);
  const subject = (name: string, server: Server): Subject => ({ name, measure: () => measure(server, groups) });
  const subjects = [...(before === null ? [] : [subject('before', before)]), subject('now', now)];
  // Either is the first as often as the second.
  const rounds = await interleave([...subjects, ...subjects.toReversed()], ROUNDS, () => undefined);
  for (const server of [now, before]) await server?.stop();
  return ['accept', 'record', 'both'].map((figure) => [engine, figure, ...figuresOf(rounds, figure)]);
}

/** The spread is half of the distance between the quartiles, as a share of the median. */
function figuresOf(rounds: Rounds, figure: string): string[] {
  const spread = (name: string) => {
    const all = (rounds[name] ?? []).map((sample) => sample[figure] ?? Number.NaN);
    return (quantile(all, 0.75) - quantile(all, 0.25)) / 2 / quantile(all, 0.5);
  };
  const shown = (name: string) => [medianOf(rounds, name, figure).toFixed(1), `${(spread(name) * 100).toFixed(1)} %`];
  if (other === undefined) return shown('now');
  return [...shown('before'), ...shown('now'), medianRatio(rounds, 'now', 'before', figure).toFixed(3)];
}

const engines = ENGINES.filter((engine) => values.engine === undefined || values.engine === engine);
if (engines.length === 0 || !(ROUNDS >= 1) || !(WEBHOOKS >= 1)) {
  console.error(
    'Usage: npx bun bench/store/hot-path.ts [<another checkout>] [--engine sqlite|postgres] [--rounds 15] [--webhooks 1]',
  );
  process.exit(2);
}
try {
  const rows: string[][] = [];
  for (const engine of engines) rows.push(...(await compare(engine)));
  const sides = other === undefined ? ['µs', 'spread'] : ['before, µs', 'spread', 'now, µs', 'spread', 'ratio'];
  printTable(['engine', 'part', ...sides], rows, '');
  printLine(
    `Of each event to ${WEBHOOKS} webhook${WEBHOOKS === 1 ? '' : 's'}, medians of ${ROUNDS} rounds, each of them twice.`,
  );
} finally {
  await cleanUp();
  await stopPostgres();
}
