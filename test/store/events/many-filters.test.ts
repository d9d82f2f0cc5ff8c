import { expect, test } from 'bun:test';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { newEvent } from '../../support/deliveries.ts';
import { seedFilteredWebhooks } from '../../support/filtered-webhooks.ts';
import { alteredQueries, onSuiteEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

const KIND = { networkId: 1, event: 'TransferCreated' };
const WEBHOOKS = 1_500;

onSuiteEngine('an event for webhooks with many different filters', (store) => {
  test('is counted with statements of at most 1,001 rows: SQLite runs each of them on the event loop', async () => {
    const entityId = await newEntity(store.db);
    await seedFilteredWebhooks(store.db, entityId, KIND, WEBHOOKS);
    for (const [amount, deliveries] of [
      ['900', WEBHOOKS - 900],
      ['9'.repeat(1_000), 0],
    ] as const) {
      let mostRows = 0;
      const { results } = await store.db.transaction((queries) => {
        const all = async <Row>(...statement: Parameters<typeof queries.all>) => {
          const rows = await queries.all<Row>(...statement);
          mostRows = Math.max(mostRows, rows.length);
          return rows;
        };
        const event = newEvent(entityId, { ...KIND, body: JSON.stringify({ ...KIND, amount }) });
        return acceptEvents(alteredQueries(queries, { all }), store.db.dialect, [event]);
      });
      expect(results).toMatchObject([{ deliveries }]);
      expect(mostRows).toBeLessThanOrEqual(1_001);
    }
  });
});
