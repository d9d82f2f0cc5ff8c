import { webhookListQuerySchema } from '../../src/contract/webhooks.ts';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { listWebhooks } from '../../src/store/webhooks/list.ts';
import { registerWebhooks } from '../../src/store/webhooks/register.ts';
import { createTenant, TEST_CHANGE } from '../../test/support/api.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES } from '../../test/support/stores.ts';
import { explaining } from './explaining.ts';

/** Prints the query plans for pages of an entity with 100,000 webhooks on each engine: `npx bun bench/store/query-plans.ts`. */

const URLS = 100;
const NETWORKS = 200;
const EVENTS = ['LatePayment', 'TransferCreated', 'TransferFinalized', 'TransferProcessed', 'AgreementSignedUp'];

const CASES = {
  'first page': {},
  'last page': { page: '4000' },
  'a page in the middle, by URL': { page: '2000', sortBy: 'postUrl' },
  'a page past the end': { page: '5000' },
  'few matches (one network and event)': { networkId: '7', event: 'LatePayment' },
  'many matches (one event)': { event: 'LatePayment' },
  'no match': { networkId: '999999' },
};

async function seed(db: Database): Promise<string> {
  const { entityId } = await createTenant(db);
  for (let url = 0; url < URLS; url++) {
    const pairs = Array.from({ length: NETWORKS }, (_, networkId) =>
      EVENTS.map((event) => ({ networkId, event })),
    ).flat();
    const postUrl = `https://example.com/${url}`;
    await registerWebhooks(db, entityId, { postUrl, pairs, entityWebhookLimit: 1_000_000 }, TEST_CHANGE);
  }
  return entityId;
}

for (const engine of ENGINES) {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  const entityId = await seed(db);
  if (engine === 'postgres') await db.transaction((queries) => queries.run('analyze webhooks'));
  for (const [name, query] of Object.entries(CASES)) {
    console.log(`\n### ${engine}: ${name}`);
    const { totalResults, webhooks } = await listWebhooks(
      explaining(db, (plan) => console.log(plan)),
      entityId,
      webhookListQuerySchema.parse(query),
    );
    console.log(`→ ${webhooks.length} of ${totalResults}`);
  }
  await db.close();
  remove();
}
await stopPostgres();
