import type { Command } from 'commander';
import type { EntityAttention } from '../../client/admin.ts';
import { attentionQuerySchema } from '../../contract/attention.ts';
import { showCount } from '../../domain/errors.ts';
import { showDuration } from '../formats/amounts.ts';
import { nextCommand } from '../formats/attention.ts';
import { type OptionValues, parseOptions } from '../options/list-options.ts';
import { ReportedFailure } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { paint, printJson, printLine } from '../terminal/output.ts';
import { printTable, printTotal } from '../terminal/table.ts';
import { addServerOptions, openSession } from './session.ts';

const NOTE =
  "Needs an operator's key with entities:read in PAYBELL_API_KEY. Exits with 1 if an entity needs attention.";

export function addAttention(program: Command): void {
  const attention = program
    .command('attention')
    .description('list the entities that need attention, worst first')
    .requiredOption('--all', 'of all entities')
    .option('--search <text>', 'only the entity with this id, and names that contain this text')
    .option('--page <number>', 'page to show')
    .option('--limit <number>', 'rows per page, at most 100');
  addServerOptions(attention, ['attention --all', 'attention --all --json'], NOTE).action(listAttention);
}

/** Stands for no entity: the operations of operators do not send one, and `--entity` only narrows the list. */
const NO_ENTITY = '-';

async function listAttention({ all: _, entity, ...options }: OptionValues & { entity?: string }): Promise<void> {
  const { client, json, own } = openSession({ ...options, entity: entity ?? NO_ENTITY });
  const query = { ...own, ...(entity !== undefined && { search: entity }) };
  const list = await client.admin.listAttention(parseOptions(attentionQuerySchema, query));
  const { totalResults, needAttention } = list;
  if (json) printJson(list);
  else if (needAttention === 0) {
    printLine(`Nothing needs attention: ${showCount(totalResults, 'entity', 'entities')} checked.`);
  } else {
    const shown = list.entities.filter(({ level }) => level !== 'none');
    printEntities(shown, Math.floor(Date.now() / 1000));
    printTotal(needAttention, shown.length);
  }
  if (needAttention > 0) throw new ReportedFailure();
}

function printEntities(entities: readonly EntityAttention[], nowS: number): void {
  printTable(
    [
      'level',
      'entity-id',
      'failing',
      'suspended',
      'paused',
      'sources paused',
      'waiting',
      'overdue',
      'events/h',
      'failures/h',
      'name',
    ],
    entities.map((entity) => [
      paint(entity.level, entity.level === 'urgent' ? 'red' : 'yellow'),
      entity.entityId,
      String(entity.failingEndpoints),
      String(entity.suspendedEndpoints),
      String(entity.pausedEndpoints),
      String(entity.pausedSources),
      String(entity.waiting),
      entity.dateOldestDue === null ? '–' : showDuration((nowS - entity.dateOldestDue) * 1000),
      String(entity.eventsLastHour),
      String(entity.failuresLastHour),
      entity.name,
    ]),
    'This page has no entity that needs attention.',
    { shorten: { 'entity-id': 13, name: 8 }, leaveOut: ['events/h', 'sources paused', 'failures/h', 'paused', 'name'] },
  );
  const [worst] = entities;
  if (worst !== undefined) printLine(`Next: ${PAYBELL} ${nextCommand(worst)} --entity ${worst.entityId}`);
}
