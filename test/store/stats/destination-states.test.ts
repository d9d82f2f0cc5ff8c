import { expect, test } from 'bun:test';
import type { DestinationOrder } from '../../../src/contract/stats.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { readStats } from '../../../src/store/stats/read.ts';
import { suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { accept, addReceiver, claim, letPass, newEvent } from '../../support/deliveries.ts';
import { configure } from '../../support/endpoints.ts';
import { attemptThat, record } from '../../support/order.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const HOUR_S = 3_600;

async function destinations(db: Database, entityId: string, order: DestinationOrder = 'failures', only?: string) {
  const endS = Math.ceil(Date.now() / 1000 / HOUR_S) * HOUR_S;
  const range = { intervalS: HOUR_S, startS: endS - 24 * HOUR_S, endS };
  return (await readStats(db, entityId, range, only, order)).destinations;
}

const urlOf = (name: string) => `https://${name}.example.com/hook`;
const hostOf = (name: string) => `https://${name}.example.com:443`;

onSuiteEngine('a destination of the statistics', (store) => {
  test('has a state and its waiting deliveries, even without traffic in the range, and the worst is first', async () => {
    const { db } = store;
    const entityId = await newEntity(db);
    const webhookIds = new Map<string, string>();
    for (const name of ['quiet', 'paused', 'hanging', 'failing', 'suspended', 'limited']) {
      webhookIds.set(name, await addReceiver(db, entityId, urlOf(name)));
    }
    await configure(db, entityId, urlOf('limited'), { rateLimit: 5 });
    await accept(db, newEvent(entityId));
    await configure(db, entityId, urlOf('paused'), { paused: true });
    await suspendWebhook(db, entityId, webhookIds.get('suspended') ?? '', 'gone', TEST_CHANGE);
    const [failed] = await claim(db, entityId, 1, urlOf('failing'));
    const [sent] = await claim(db, entityId, 1, urlOf('quiet'));
    if (failed === undefined || sent === undefined) throw new Error('nothing was claimed');
    await record(db, attemptThat('retried', failed), attemptThat('delivered', sent));
    await db.transaction((queries) =>
      queries.run(`update queue_heads set failing_since_ms = 1 where entity_id = $1 and post_url = $2`, [
        entityKey(db.dialect, entityId),
        urlOf('failing'),
      ]),
    );
    await letPass(db, entityId, 120_000);
    const found = await destinations(db, entityId);
    expect(found.map(({ destination, state, waiting }) => [destination, state, waiting])).toEqual([
      [hostOf('suspended'), 'suspended', 1],
      [hostOf('failing'), 'failing', 1],
      [hostOf('hanging'), 'active', 1],
      [hostOf('limited'), 'active', 1],
      [hostOf('paused'), 'paused', 1],
    ]);
    const overdue = found.filter(({ dateOldestDue }) => dateOldestDue !== null).map(({ destination }) => destination);
    expect(overdue).toEqual(['failing', 'hanging', 'limited'].map(hostOf));
    expect(await destinations(db, entityId, 'traffic', hostOf('hanging'))).toMatchObject([
      { destination: hostOf('hanging'), accepted: 0, waiting: 1 },
    ]);
    expect(await destinations(db, entityId, 'traffic', hostOf('quiet'))).toEqual([]);
  });
});
