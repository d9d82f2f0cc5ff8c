import { deliveryListQuerySchema } from '../../src/contract/deliveries.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { listDeliveries } from '../../src/store/deliveries/read.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES } from '../../test/support/stores.ts';
import { median } from '../harness/rounds.ts';
import { DELIVERY_CASES, seedManyDeliveries } from './list-cases.ts';

/** Times the list of deliveries of a large entity on each engine: `npx bun bench/store/delivery-list-timing.ts`. */

const ROUNDS = 7;

for (const engine of ENGINES) {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  const entityId = await seedManyDeliveries(db);
  if (engine === 'postgres') await db.transaction((queries) => queries.run('analyze deliveries'));
  for (const [name, given] of Object.entries(DELIVERY_CASES)) {
    const query = deliveryListQuerySchema.parse(given);
    const tookMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startedAtMs = performance.now();
      await listDeliveries(db, entityId, query);
      tookMs.push(performance.now() - startedAtMs);
    }
    const { totalResults } = await listDeliveries(db, entityId, query);
    const ms = median(tookMs).toFixed(1).padStart(7);
    console.log(`${engine.padEnd(9)} ${name.padEnd(30)} ${ms} ms, ${totalResults} in total`);
  }
  await db.close();
  remove();
}
await stopPostgres();
