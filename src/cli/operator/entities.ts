import type { Command } from 'commander';
import { entityListQuerySchema, newEntitySchema } from '../../contract/admin.ts';
import { listEntities } from '../../store/tenants/entities.ts';
import { provisionEntity } from '../../store/tenants/provision.ts';
import { addListOptions, type OptionValues, parseOptions } from '../options/list-options.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printJson, printLine, showDate } from '../terminal/output.ts';
import { printTable, printTotal } from '../terminal/table.ts';
import { changeByCommandLine, withStore } from './session.ts';

export function addEntities(program: Command): void {
  const entities = program.command('entities').description('tenants: each webhook, event and key belongs to one');
  entities
    .command('create')
    .description('create an entity and its first key')
    .requiredOption('--name <name>', 'name of the entity')
    .option('--json', 'print JSON')
    .action(create);
  addListOptions(
    entities.command('list').description('list entities').option('--name <name>', 'only entities with this name'),
  ).action(list);
}

async function create({ json, ...given }: { name: string; json?: boolean }): Promise<void> {
  const { name } = parseOptions(newEntitySchema, given);
  const entity = await withStore(({ db, box }) => provisionEntity(db, box, name, changeByCommandLine()), {
    create: true,
  });
  if (json) return printJson(entity);
  printLine(`entity-id  ${entity.entityId}`);
  printLine(`api-key    ${entity.apiKey}`);
  printLine('The key is shown only this once.');
}

async function list(options: OptionValues): Promise<void> {
  const query = parseOptions(entityListQuerySchema, options);
  const { totalResults, entities } = await withStore(({ db }) => listEntities(db, query));
  if (options.json) return printJson({ totalResults, entities });
  printTable(
    ['entity-id', 'name', 'created'],
    entities.map(({ entityId, name, dateCreated }) => [entityId, name, showDate(dateCreated)]),
    `No entities match. Create one: ${PAYBELL} entities create --name Acme`,
  );
  printTotal(totalResults, entities.length);
}
