import { expect, test } from 'bun:test';
import { deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { walkExport } from '../../../src/store/webhooks/export.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { HOOK, LATE_ON_1 } from '../../support/deliveries.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

onSuiteEngine('an export of webhooks', (store) => {
  test('leaves out one that is deleted meanwhile, whose options are not known any more', async () => {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, HOOK, [LATE_ON_1, { ...LATE_ON_1, networkId: 2 }]);
    const [deleted, left] = webhooks.map(({ webhookId }) => webhookId);
    const { longReads } = store.db;
    let reads = 0;
    const deleting = alteredStore(store.db, {
      longReads: {
        get: longReads.get.bind(longReads),
        snapshot: longReads.snapshot.bind(longReads),
        all: async (sql, params) => {
          if (++reads === 2) await deleteWebhook(store.db, entityId, deleted ?? '', () => true, TEST_CHANGE);
          return longReads.all(sql, params);
        },
      },
    });
    const exported: string[] = [];
    for await (const page of walkExport(deleting, entityId)) exported.push(...page.map(({ webhookId }) => webhookId));
    expect(exported).toEqual([left ?? '']);
  });
});
