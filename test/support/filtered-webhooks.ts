import type { Database } from '../../src/store/database/database.ts';
import { chunks, Parameters } from '../../src/store/database/sql.ts';
import { filterTable } from '../../src/store/tables.ts';
import { seedWebhooks } from './webhooks.ts';

const NEW_FILTER = filterTable.insertion(['entityId', 'hash', 'bytes', 'filter']);

/** Webhooks that each have another filter: number `at` takes events with an `amount` of at most `at`. */
export async function seedFilteredWebhooks(
  db: Database,
  entityId: string,
  kind: { readonly networkId: number; readonly event: string },
  count: number,
): Promise<void> {
  const webhooks = await seedWebhooks(
    db,
    entityId,
    Array.from({ length: count }, (_, at) => ({ ...kind, postUrl: `https://example.com/${at}` })),
  );
  const rows = webhooks.map(({ webhookId }, at) => {
    const filter = JSON.stringify({ amount: { max: String(at) } });
    return { entityId, webhookId, hash: Bun.SHA256.hash(filter, 'hex').slice(0, 32), bytes: filter.length, filter };
  });
  for (const chunk of chunks(rows)) {
    await db.transaction(async (queries) => {
      await queries.run(NEW_FILTER.text(chunk.length), NEW_FILTER.parameters(chunk));
      for (const { webhookId, hash } of chunk) {
        const { values } = new Parameters(hash, entityId, webhookId);
        await queries.send('update webhooks set filter_hash = $1 where entity_id = $2 and id = $3', values);
      }
    });
  }
}
