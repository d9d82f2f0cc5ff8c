import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import type { Database } from '../../store/database/database.ts';
import { ReportedFailure } from '../terminal/command-error.ts';
import { paint, printJson, printLine } from '../terminal/output.ts';
import { checkLoopbackDelivery } from './delivery.ts';
import { checkDisk } from './disk.ts';
import { type Finding, fault } from './finding.ts';
import { checkBacklog, checkRetention, checkSpace } from './growth.ts';
import { checkSettings } from './settings.ts';
import { checkClock, checkSchema, checkSecretKey, openStoreToLook } from './store.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('look at everything that the service needs, and say how to mend what is wrong; changes nothing')
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
  if (!json && settingsOnly) printLine(paint('Everything else is looked at once the settings can be used.', 'dim'));
  const isWell = findings.every(({ state }) => state !== 'fault');
  if (json) printJson({ ok: isWell, checks: findings });
  if (!isWell) throw new ReportedFailure();
}

async function* allFindings(): AsyncGenerator<Finding> {
  const { config, findings } = checkSettings(process.env);
  yield* findings;
  if (config === null) return;
  yield checkDisk(config);
  yield await checkLoopbackDelivery(config);
  const { db, finding } = await openStoreToLook(config);
  yield finding;
  if (db === null) return;
  try {
    yield* storeFindings(db, config);
  } finally {
    await db.close();
  }
}

/** What a schema that is not up to date lacks cannot be looked at. */
async function* storeFindings(db: Database, config: Config): AsyncGenerator<Finding> {
  const checks = {
    clock: () => checkClock(db),
    'secret key': () => checkSecretKey(db, config),
    backlog: () => checkBacklog(db),
    retention: () => checkRetention(db, config),
    space: () => checkSpace(db),
  };
  const schema = await checkSchema(db, config);
  yield schema;
  if (schema.state !== 'ok') return;
  for (const [name, check] of Object.entries(checks)) {
    yield await check().catch((error) => {
      if (!(error instanceof Error)) throw error;
      return fault(
        name,
        `it could not be looked at: ${error.message}`,
        'See whether the store answers, and try again.',
      );
    });
  }
}

const COLOURS = { ok: 'green', warning: 'yellow', fault: 'red' } as const;

function printFinding({ check, state, found, mend }: Finding): void {
  printLine(`${paint(state.padEnd(7), COLOURS[state])}  ${check.padEnd(17)}  ${found}`);
  if (mend !== null) printLine(`${' '.repeat(28)}${paint('→', COLOURS[state])} ${mend}`);
}
