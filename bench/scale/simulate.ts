import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { HEADINGS, rowOf, type Size, simulate } from './scenarios.ts';

/**
 * A fleet on paper: fairness beside receivers that hang, and recovery after a lost shard and after lost instances.
 * `npx bun bench/scale/simulate.ts --instances 100 --destinations 1000000`
 */

const { values } = parseArgs({
  options: {
    instances: { type: 'string', default: '100' },
    shards: { type: 'string', default: '32' },
    destinations: { type: 'string', default: '1000000' },
    perDay: { type: 'string', default: '1000000000' },
    cap: { type: 'string', default: '16' },
    seed: { type: 'string', default: '1' },
  },
});
const size: Size = {
  instances: Number(values.instances),
  shards: Number(values.shards),
  destinations: Number(values.destinations),
  perSecond: Number(values.perDay) / 86_400,
  cap: Number(values.cap),
  seed: Number(values.seed),
};

const startedAtMs = performance.now();
const runs = simulate(size, (name) => printLine(`simulating: ${name}`));
printTable(HEADINGS, runs.map(rowOf), '');
printLine(`${Math.round((performance.now() - startedAtMs) / 1_000)} s for all runs, seed ${size.seed}.`);
