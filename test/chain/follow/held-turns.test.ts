import { expect, test } from 'bun:test';
import type { Database } from '../../../src/store/database/database.ts';
import { newStoredNetwork } from '../../support/chain/stored-network.ts';
import { accept, newEvent } from '../../support/deliveries.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { suiteRuns } from '../../support/suite.ts';
import { newEntity } from '../../support/webhooks.ts';

const INVENTED = suiteRuns(200, 1_500);
const POLLS = 3;

onSuiteEngine('events that entities hold for transactions', (store) => {
  const invent = (n: number) => `0x${'e'.repeat(40)}${n.toString(16).padStart(24, '0')}`;

  async function hold(db: Database, entityId: string, networkId: number, hashes: readonly string[]): Promise<void> {
    const event = { event: 'TransferProcessed', networkId };
    for (const [index, heldFor] of hashes.entries()) {
      await accept(db, { ...newEvent(entityId, { ...event, eventId: `${entityId}-${index}` }), heldFor });
    }
  }

  async function stateOf(entityId: string): Promise<string | undefined> {
    const sql = 'select state from facts where entity_id = $1';
    return (await store.db.get<{ state: string }>(sql, [entityId]))?.state;
  }

  test.each([
    ['an entity invents all of its transactions', 1],
    ['twenty entities invent theirs', 20],
  ])('are released within three polls, even if %s', async (_, strangers) => {
    const network = await newStoredNetwork(store.db);
    const { networkId } = network;
    for (let stranger = 0; stranger < strangers; stranger++) {
      const hashes = Array.from({ length: INVENTED / strangers }, (__, n) => invent(stranger * INVENTED + n));
      await hold(store.db, await newEntity(store.db), networkId, hashes);
    }
    await network.followBlocks(4);
    const shop = await newEntity(store.db);
    const { hash } = network.pay();
    await hold(store.db, shop, networkId, [hash]);
    let polls = 0;
    for (; (await stateOf(shop)) === 'waiting' && polls < 2 * INVENTED; polls++) await network.followBlocks(1);
    expect(await stateOf(shop)).toBe('seen');
    expect(polls).toBeLessThanOrEqual(POLLS);
  });
});
