import type { Command } from 'commander';
import { entityListQuerySchema, newEntitySchema } from '../../contract/admin.ts';
import { listEntities } from '../../store/tenants/entities.ts';
import { provisionEntity } from '../../store/tenants/provision.ts';
import { addListOptions, parseOptions } from '../formats/list-options.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printJson, printLine, printTable, printTotal, showDate } from '../terminal/output.ts';
import { changeByCommandLine, withStore } from './session.ts';

export function addEntities(program: Command): void {
  const entities = program.command('entities').description('tenants: everything belongs to exactly one');
  entities
    .command('create')
    .description('make an entity and its first key')
    .requiredOption('--name <name>', 'what people call it')
    .option('--json', 'print JSON')
    .action(create);
  addListOptions(
    entities.command('list').description('list entities').option('--name <name>', 'only of this name'),
  ).action(list);
}

async function create({ json, ...given }: { name: string; json?: boolean }): Promise<void> {
  const { name } = parseOptions(newEntitySchema, given);
  const made = await withStore(({ db, box }) => provisionEntity(db, box, name, changeByCommandLine()), {
    create: true,
  });
  if (json) return printJson(made);
  printLine(`entity-id  ${made.entityId}`);
  printLine(`api-key    ${made.apiKey}`);
  printLine('The key is shown only this once.');
}

async function list(options: Record<string, string | boolean | undefined>): Promise<void> {
  const query = parseOptions(entityListQuerySchema, options);
  const { totalResults, entities } = await withStore(({ db }) => listEntities(db, query));
  if (options.json) return printJson({ totalResults, entities });
  printTable(
    ['entity-id', 'name', 'created'],
    entities.map(({ entityId, name, dateCreated }) => [entityId, name, showDate(dateCreated)]),
    `No entities here: ${PAYBELL} entities create --name Acme`,
  );
  printTotal(totalResults, entities.length);
}
