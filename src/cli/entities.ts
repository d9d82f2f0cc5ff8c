import type { Command } from 'commander';
import { listEntities } from '../store/entities.ts';
import { provisionEntity } from '../store/provision.ts';
import { printJson, printLine, printTable, showDate } from './output.ts';
import { changeByCommandLine, withStore } from './store-session.ts';

export function addEntities(program: Command): void {
  const entities = program.command('entities').description('tenants: everything belongs to exactly one');
  entities
    .command('create')
    .description('make an entity and its first key')
    .requiredOption('--name <name>', 'what people call it')
    .option('--json', 'print JSON')
    .action(create);
  entities.command('list').description('list all entities').option('--json', 'print JSON').action(list);
}

async function create({ name, json }: { name: string; json?: boolean }): Promise<void> {
  const made = await withStore(({ db, box }) => provisionEntity(db, box, name, changeByCommandLine()));
  if (json) return printJson(made);
  printLine(`entity-id  ${made.entityId}`);
  printLine(`api-key    ${made.apiKey}`);
  printLine('The key is shown only this once.');
}

async function list({ json }: { json?: boolean }): Promise<void> {
  const entities = await withStore(({ db }) => listEntities(db));
  if (json) return printJson({ totalResults: entities.length, entities });
  printTable(
    ['entity-id', 'name', 'created'],
    entities.map(({ entityId, name, dateCreated }) => [entityId, name, showDate(dateCreated)]),
    'No entities yet: paybell entities create --name Acme',
  );
}
