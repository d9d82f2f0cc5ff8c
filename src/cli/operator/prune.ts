import type { Command } from 'commander';
import { showCount } from '../../domain/errors.ts';
import { PAUSE, PacedBatches } from '../../store/database/paced-batches.ts';
import { shrinkFile, storeBytes } from '../../store/database/sqlite/vacuum.ts';
import type { Pruned } from '../../store/deliveries/retention/prune-run.ts';
import { prune } from '../../store/deliveries/retention/retention.ts';
import { showBytes } from '../formats/amounts.ts';
import { duration } from '../options/values.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { Progress } from '../terminal/progress.ts';
import { printTable } from '../terminal/table.ts';
import { withStore } from './session.ts';

export function addPrune(program: Command): void {
  program
    .command('prune')
    .description('remove completed deliveries, their attempts and their events now; pending deliveries stay')
    .option('--older-than <duration>', 'remove what is older than this, such as 7d (default: RETENTION)', parseAge)
    .option('--dry-run', 'only count what would be removed')
    .option('--json', 'print JSON')
    .action(pruneNow);
}

type PruneOptions = { olderThan?: number; dryRun?: boolean; json?: boolean };

async function pruneNow({ olderThan, dryRun = false, json }: PruneOptions): Promise<void> {
  const report = await withStore(async ({ db, config }) => {
    const olderThanMs = olderThan ?? config.RETENTION;
    const bytesBefore = await storeBytes(db);
    const batches = new PacedBatches(db.engine, PAUSE.foreground);
    const progress = new Progress();
    const onProgress = ({ deliveries, events }: Readonly<Pruned>) =>
      progress.show(
        null,
        `${showCount(deliveries, 'delivery', 'deliveries')} and ${showCount(events, 'event')} ${dryRun ? 'found' : 'removed'}`,
      );
    const pruned = await prune(db, { olderThanMs, batches, dryRun, onProgress });
    progress.show(null, 'releasing disk space');
    if (!dryRun) await shrinkFile(db, batches);
    progress.clear();
    return { engine: db.engine, dryRun, olderThanMs, ...pruned, bytesBefore, bytesAfter: await storeBytes(db) };
  });
  if (json) return printJson(report);
  const { deliveries, attempts, events, redeliveries, secrets, facts } = report;
  const rows = { deliveries, attempts, events, 'bulk redeliveries': redeliveries, 'expired secrets': secrets, facts };
  printTable(
    [dryRun ? 'would be removed' : 'removed', 'rows'],
    Object.entries(rows).map(([name, count]) => [name, String(count)]),
    '',
  );
  if (dryRun) return;
  printLine();
  printLine(`Store size: ${showBytes(report.bytesBefore)} before, ${showBytes(report.bytesAfter)} after.`);
  if (report.engine === 'postgres') printLine('PostgreSQL reuses the freed space for new rows.');
}

const parseAge = duration(1, Number.POSITIVE_INFINITY, 'Give a duration above zero such as 12h or 30d.');
