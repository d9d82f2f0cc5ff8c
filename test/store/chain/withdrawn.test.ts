import { expect, test } from 'bun:test';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import { newStoredNetwork } from '../../support/chain/stored-network.ts';
import { accept, claim, newEvent, readDeliveries, statuses } from '../../support/deliveries.ts';
import { attemptThat, record } from '../../support/order.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { register, setFinality } from '../../support/webhooks.ts';

onSuiteEngine('a held event that its sender retracts', (store) => {
  const begin = async () => {
    const network = await newStoredNetwork(store.db);
    const { entityId } = network.tenant;
    const { networkId } = network;
    const transaction = network.chain.transaction();
    const held = { event: 'TransferProcessed', networkId, heldFor: transaction.hash };
    await accept(store.db, newEvent(entityId, { ...held, eventId: 'paid', body: '{"event":"TransferProcessed"}' }));
    await network.follow(2);
    const retract = async () => {
      const body = JSON.stringify({ event: RETRACTION, networkId, retracts: { eventId: 'paid' } });
      await accept(store.db, newEvent(entityId, { event: RETRACTION, networkId, body, retracts: 'paid' }));
      await runTasks(store.db);
    };
    const mineAndAccept = async () => {
      network.chain.mine([transaction]);
      await network.followBlocks(6);
      await network.acceptFacts();
      await runTasks(store.db);
    };
    return { ...network, entityId, retract, mineAndAccept };
  };

  test('is not delivered when its transaction has the finality of a webhook', async () => {
    const { entityId, retract, mineAndAccept } = await begin();
    await retract();
    await mineAndAccept();
    expect(await readDeliveries(store.db, entityId)).toEqual([]);
  });

  test('is retracted at the webhooks that have it, and delivered to no other', async () => {
    const { entityId, networkId, retract, mineAndAccept, followBlocks, acceptFacts } = await begin();
    const other = 'https://final.example.com/';
    await register(store.db, entityId, other, [{ networkId, event: 'TransferProcessed' }]);
    await setFinality(store.db, entityId, { postUrl: other }, 'final');
    await mineAndAccept();
    const [delivery] = await claim(store.db, entityId);
    if (delivery !== undefined) await record(store.db, attemptThat('delivered', delivery));
    await retract();
    expect(await statuses(store.db, entityId)).toEqual(['delivered', 'pending']);
    await followBlocks(80);
    await acceptFacts();
    await runTasks(store.db);
    expect(await statuses(store.db, entityId)).toEqual(['delivered', 'pending']);
  });
});
