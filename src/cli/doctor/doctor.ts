import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { showCount } from '../../domain/errors.ts';
import { type Database, StoreUnavailableError } from '../../store/database/database.ts';
import { storeAdvice } from '../formats/store-advice.ts';
import { ReportedFailure } from '../terminal/command-error.ts';
import { paint, printJson, printLine } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { checkEntities, checkFollowing } from './attention.ts';
import { checkCitus } from './citus.ts';
import { checkLoopbackDelivery } from './delivery.ts';
import { checkDisk } from './disk.ts';
import { checkCertificates, checkEgress } from './egress.ts';
import { type Finding, failure } from './finding.ts';
import { checkBacklog, checkRetention, checkSpace } from './growth.ts';
import { checkInstances, checkWorkers } from './instances.ts';
import { checkNetworks } from './networks.ts';
import { checkOpenFiles } from './open-files.ts';
import { checkPartitions } from './partitions.ts';
import { checkSettings } from './settings.ts';
import { checkClock, checkSchema, checkSecretKey, openForInspection } from './store.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check everything that the service needs, and say how to fix problems; changes nothing')
    .option('--json', 'print JSON')
    .action(examine);
}

async function examine({ json }: { json?: boolean }): Promise<void> {
  const findings: Finding[] = [];
  for await (const finding of allFindings()) {
    findings.push(finding);
    if (!json) printFinding(finding);
  }
  const settingsOnly = findings.every(({ check }) => check === 'settings');
  if (!json && settingsOnly) printLine(paint('The other checks run once the settings are valid.', 'dim'));
  const isHealthy = findings.every(({ state }) => state !== 'error');
  if (json) printJson({ ok: isHealthy, checks: findings });
  else printLine(`\n${summaryOf(findings)}`);
  if (!isHealthy) throw new ReportedFailure();
}

async function* allFindings(): AsyncGenerator<Finding> {
  const { config, findings } = checkSettings(terminal().env);
  yield* findings;
  if (config === null) return;
  yield checkDisk(config);
  yield checkOpenFiles(config);
  yield await checkLoopbackDelivery(config);
  yield* checkEgress(config);
  yield* checkNetworks(config);
  const { db, finding } = await openForInspection(config);
  yield finding;
  if (db === null) return;
  try {
    yield* storeFindings(db, config);
  } finally {
    await db.close();
  }
}

/** The other checks read tables that an older schema may lack. */
async function* storeFindings(db: Database, config: Config): AsyncGenerator<Finding> {
  const checks: Readonly<Record<string, () => Promise<Finding | readonly Finding[] | null>>> = {
    clock: () => checkClock(db),
    'secret key': () => checkSecretKey(db, config),
    instances: () => checkInstances(db, config),
    workers: () => checkWorkers(db),
    backlog: () => checkBacklog(db),
    entities: () => checkEntities(db),
    reading: () => checkFollowing(db, config),
    retention: () => checkRetention(db, config),
    space: () => checkSpace(db),
    certificates: () => checkCertificates(db),
    citus: () => checkCitus(db),
    partitions: () => checkPartitions(db),
  };
  const schema = await checkSchema(db, config);
  yield schema;
  if (schema.state !== 'ok') return;
  for (const [name, check] of Object.entries(checks)) {
    const found = await check().catch((error) => {
      if (!(error instanceof Error)) throw error;
      const fix = error instanceof StoreUnavailableError ? storeAdvice(error) : 'Check the database, and try again.';
      return failure(name, `the check failed: ${error.message}`, fix);
    });
    if (found !== null) yield* [found].flat();
  }
}

/** The result in one line, under a list that may be longer than the terminal. */
function summaryOf(findings: readonly Finding[]): string {
  const count = (wanted: Finding['state']) => findings.filter(({ state }) => state === wanted).length;
  const troubles = [
    ...(count('error') === 0 ? [] : [showCount(count('error'), 'error')]),
    ...(count('warning') === 0 ? [] : [showCount(count('warning'), 'warning')]),
  ];
  const checks = showCount(findings.length, 'check');
  return troubles.length === 0 ? `Nothing needs attention: ${checks}, all ok.` : `${checks}: ${troubles.join(', ')}.`;
}

const COLOURS = { ok: 'green', warning: 'yellow', error: 'red' } as const;

function printFinding({ check, state, found, fix }: Finding): void {
  printLine(`${paint(state.padEnd(7), COLOURS[state])}  ${check.padEnd(17)}  ${found}`);
  if (fix !== null) printLine(`${' '.repeat(28)}${paint('→', COLOURS[state])} ${fix}`);
}
