import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type EventListQuery, eventListQuerySchema } from '../../../src/contract/events/accepted-event.ts';
import { webhookFinalityText } from '../../../src/domain/chain/finality-by-amount.ts';
import { PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { findEventNo } from '../../../src/store/events/event-ids.ts';
import { startEventTask } from '../../../src/store/events/fan-out-task.ts';
import { listEvents, readEvent } from '../../../src/store/events/read.ts';
import { accept, HOOK, newEvent } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { newEntity, register, setFinality } from '../../support/webhooks.ts';

const HASH = `0x${'2'.repeat(64)}`;
const NETWORK = 8453;
const DAY_MS = 86_400_000;

/** The rules of a webhook that counts confirmations of small payments. */
function rulesUpTo(confirmations: number): string {
  return webhookFinalityText({
    rules: [{ maxAmount: '50', tokens: ['usd'], finality: confirmations }],
    otherwise: 'final',
  });
}

onSuiteEngine('the events that reached no webhook', (store) => {
  let entityId: string;

  beforeEach(async () => {
    entityId = await newEntity(store.db);
  });

  afterEach(async () => {
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  const registerFor = (event: string, networkId = NETWORK) =>
    register(store.db, entityId, HOOK, [{ networkId, event }]);
  const send = (eventId: string, given: Parameters<typeof newEvent>[1] = {}) =>
    accept(store.db, newEvent(entityId, { eventId, event: 'TransferProcessed', networkId: NETWORK, ...given }));
  const list = async (given: Partial<Record<keyof EventListQuery, string>>) => {
    const { totalResults, events } = await listEvents(store.db, entityId, eventListQuerySchema.parse(given));
    const shown = await Promise.all(events.map(({ eventId }) => readEvent(store.db, entityId, eventId)));
    expect(shown).toEqual(events);
    if (given.matched !== undefined) {
      expect(events.every(({ matched }) => String(matched) === given.matched)).toBe(true);
    }
    return [totalResults, events.map(({ eventId }) => eventId)];
  };
  const unmatched = async () => (await list({ matched: 'false' }))[1];
  const setFact = (column: string, value: string | number) =>
    store.db.transaction((queries) =>
      queries.run(`update facts set ${column} = $2 where entity_id = $1`, [entityId, value]),
    );

  test('are told from the others with exact totals, by every filter and on every page', async () => {
    await registerFor('TransferProcessed');
    const sent: string[] = [];
    for (let index = 0; index < 12; index++) {
      const isWanted = index % 3 === 0;
      await send(`e${index}`, isWanted ? {} : { event: index % 2 === 0 ? 'LatePayment' : 'TransferCreated' });
      sent.unshift(`e${index}`);
    }
    const wanted = sent.filter((id) => Number(id.slice(1)) % 3 === 0);
    const others = sent.filter((id) => !wanted.includes(id));
    expect(await list({ matched: 'true' })).toEqual([4, wanted]);
    expect(await list({ matched: 'false' })).toEqual([8, others]);
    expect(await list({ matched: 'false', limit: '3', page: '2' })).toEqual([8, others.slice(3, 6)]);
    expect(await list({ matched: 'false', sortDir: 'asc', limit: '3' })).toEqual([8, others.toReversed().slice(0, 3)]);
    expect(await list({ matched: 'true', sortDir: 'asc', limit: '3', page: '2' })).toEqual([4, ['e9']]);
    expect(await list({ matched: 'false', event: 'LatePayment' })).toEqual([4, ['e10', 'e8', 'e4', 'e2']]);
    expect(await list({ matched: 'false', event: 'TransferProcessed' })).toEqual([0, []]);
    expect(await list({ matched: 'true', networkId: String(NETWORK), event: 'TransferProcessed' })).toEqual([
      4,
      wanted,
    ]);
    expect(await list({ matched: 'false', eventId: 'e1' })).toEqual([1, ['e1']]);
    expect(await list({ matched: 'true', eventId: 'e1' })).toEqual([0, []]);
    expect(await list({ matched: 'true', since: '1', until: '9000000000' })).toEqual([4, wanted]);
    expect(await list({ matched: 'false', since: '9000000000' })).toEqual([0, []]);
    const stranger = await newEntity(store.db);
    await accept(store.db, newEvent(stranger, { eventId: 'theirs' }));
    expect(await list({ matched: 'false' })).toEqual([8, others]);
  });

  test('are not counted any more once retention has removed them', async () => {
    await send('old');
    expect(await list({ matched: 'false' })).toEqual([1, ['old']]);
    const nowMs = Date.now() + 10 * DAY_MS;
    await prune(store.db, { olderThanMs: DAY_MS, batches: new PacedBatches(store.engine, 0), dryRun: false, nowMs });
    expect(await list({ matched: 'false' })).toEqual([0, []]);
  });

  test('are not those that were superseded, nor retractions', async () => {
    await registerFor('LatePayment');
    await send('paid', { event: 'TransferProcessed', transferId: 't-1' });
    await send('late', { event: 'LatePayment', transferId: 't-1' });
    await send('taken-back', { event: 'EventRetracted', retracts: 'paid' });
    expect(await unmatched()).toEqual(['paid']);
    expect(await list({ matched: 'true' })).toEqual([2, ['taken-back', 'late']]);
  });

  test('are not those that are held, before their transaction is final and all that it leads to was told', async () => {
    await send('held', { heldFor: HASH });
    for (const state of ['waiting', 'seen', 'lost', 'retracted']) {
      await setFact('state', state);
      expect([state, await unmatched()]).toEqual([state, []]);
    }
    await setFact('state', 'final');
    expect(await unmatched()).toEqual(['held']);
    const [{ id } = { id: '' }] = await store.db.all<{ id: string }>('select id from facts where entity_id = $1', [
      entityId,
    ]);
    await store.db.transaction((queries) =>
      queries.run(
        `insert into fact_events (entity_id, fact_id, revision, event, finality, network_id, no)
         values ($1, $2, 1, 'TransferProcessed', 'final', $3, 1)`,
        [entityId, id, NETWORK],
      ),
    );
    expect(await unmatched()).toEqual([]);
  });

  test('are not those for which a webhook counts confirmations beyond finality', async () => {
    await send('held', { heldFor: HASH });
    await setFact('state', 'final');
    await setFact('block_number', 100);
    const setHead = (head: number) =>
      store.db.transaction(async (queries) => {
        await queries.run('delete from chains where network_id = $1', [NETWORK]);
        await queries.run('insert into chains (network_id, head) values ($1, $2)', [NETWORK, head]);
      });
    await setHead(148);
    await registerFor('TransferProcessed');
    for (const [finality, expected] of [
      ['seen', ['held']],
      ['50', []],
      ['49', ['held']],
      [rulesUpTo(50), []],
      [rulesUpTo(49), ['held']],
    ] as const) {
      await setFinality(store.db, entityId, { event: 'TransferProcessed' }, finality);
      expect([finality, await unmatched()]).toEqual([finality, [...expected]]);
    }
  });

  test('are not those with a task that is still to make their deliveries, and are once it made none', async () => {
    await send('task');
    const eventNo = (await findEventNo(store.db, store.db.dialect, entityId, 'task')) ?? '';
    const task = {
      kind: 'fan_out' as const,
      event: { entityId },
      eventNo,
      dueMs: 0,
      made: 0,
      revision: 99,
      cursor: '0',
    };
    await store.db.transaction((queries) => startEventTask(queries, store.db.dialect, task));
    expect(await unmatched()).toEqual([]);
    expect(await list({ matched: 'true' })).toEqual([1, ['task']]);
    await runTasks(store.db);
    expect(await unmatched()).toEqual(['task']);
  });
});
