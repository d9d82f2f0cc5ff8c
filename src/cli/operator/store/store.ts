import type { Command } from 'commander';
import { Paybell } from '../../../client/paybell.ts';
import { ACTORS } from '../../../domain/keys/actors.ts';
import { makeApiKey } from '../../../domain/keys/api-keys.ts';
import { unnamedOperatorKey } from '../../../domain/keys/operator-keys.ts';
import { createLogger } from '../../../log.ts';
import { redeliveryKey } from '../../../store/deliveries/redeliver/bulk.ts';
import { randomBytes } from '../../../store/new-id.ts';
import { stepTask } from '../../../store/tasks/run.ts';
import { addDeliveries } from '../../server/deliveries.ts';
import { addSecrets } from '../../server/secrets.ts';
import type { Access } from '../../server/session.ts';
import { addExamples } from '../../terminal/help.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import { requireEntity, type Session, withStore } from '../session.ts';
import { addRekey } from './rekey.ts';

/** The commands `deliveries` and `secrets` for any entity of the database, without a server and without a key. */
export function addStore(program: Command): void {
  const store = program.command('store').description('secrets and deliveries of any entity, as the operator');
  addDeliveries(store, ON_STORE);
  addRekey(addSecrets(store, ON_STORE));
}

const ENTITY = 'ent_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';

const ON_STORE: Access = {
  addOptions(command, examples) {
    if (!command.options.some(({ long }) => long === '--json')) command.option('--json', 'print JSON');
    command.requiredOption('--entity <id>', 'entity to act for');
    return addExamples(
      command,
      examples.map((example) => `store ${example} --entity ${ENTITY}`),
    );
  },
  run: ({ entity, json }, work) =>
    withStore(async (store) => {
      const entityId = String(entity);
      await requireEntity(store.db, entityId);
      const client = await clientOf(store, entityId);
      // Runs the task itself, because no server may be running.
      const runTask = (redeliveryId: string) => runRedelivery(store, entityId, redeliveryId);
      await work({ client, json: json === true, runTask });
    }),
  prefix: `${PAYBELL} store`,
};

/** Calls the app in this process with a key that exists only here. The audit log names it as an operator. */
async function clientOf({ db, box, config }: Session, entityId: string): Promise<Paybell> {
  // Loaded here, so that the help of a command starts without the service.
  const { createLocalApp } = await import('../../../service.ts');
  const apiKey = makeApiKey(randomBytes);
  const operator = { ...unnamedOperatorKey(apiKey), name: ACTORS.commandLine };
  const app = createLocalApp(config, createLogger('silent'), { db, box }, operator);
  const fetch = (url: string, init: RequestInit) => app.fetch(new Request(url, init));
  return new Paybell({ url: 'http://localhost', processor: config.PROCESSOR, entityId, apiKey, fetch, retries: 0 });
}

async function runRedelivery({ db }: Session, entityId: string, redeliveryId: string): Promise<void> {
  const task = { kind: 'redeliver' as const, subject: redeliveryKey(db.dialect, redeliveryId) };
  while ((await stepTask(db, entityId, task))?.isDone === false);
}
