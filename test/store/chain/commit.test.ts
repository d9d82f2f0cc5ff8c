import { describe, expect, test } from 'bun:test';
import type { FactChange, FactKey, FoundFact, Position } from '../../../src/domain/chain/facts.ts';
import { finalityOf } from '../../../src/domain/chain/finality.ts';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import { firstHexAt } from '../../../src/domain/ids.ts';
import { commitStep } from '../../../src/store/chain/commit.ts';
import { acceptFactEvents } from '../../../src/store/chain/fact-events.ts';
import { parseHistory } from '../../../src/store/chain/facts/fact-history.ts';
import type { Lease, Step } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { countOldFacts, type FactAge, removeOldFacts } from '../../../src/store/chain/retention.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import { updateSource } from '../../../src/store/chain/sources/update.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { readRedelivery, startRedelivery } from '../../../src/store/deliveries/redeliver/bulk.ts';
import { redeliver } from '../../../src/store/deliveries/redeliver/redeliver.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { listEvents } from '../../../src/store/events/read.ts';
import { moveWebhook } from '../../../src/store/webhooks/change.ts';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { replaceOptions } from '../../../src/store/webhooks/options.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { CONFIRMED, PLAIN_STEP, SILENT_NODE } from '../../support/chain/steps.ts';
import { accept, claim, newEvent, readDeliveries } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { attemptThat, record } from '../../support/order.ts';
import { rejection } from '../../support/rejection.ts';
import { countAwaited, onSuiteEngine } from '../../support/stores.ts';
import { continueRedelivery, runTasks } from '../../support/tasks.ts';
import { listQuery, newEntity, register, setFinality } from '../../support/webhooks.ts';

const HOOK = 'https://hooks.example.com/paybell';
const DAY_MS = 86_400_000;
let lastNetworkId = 5_000;
let lastFact = 0;

onSuiteEngine('a step of a network', (store) => {
  const newFollower = (networkId: number, holder = 'one', db = store.db) => {
    const networks = new NetworkStore(db, holder, () => Promise.resolve([]));
    const lease = async (): Promise<Lease> => {
      const found = await networks.lease(networkId);
      if (found === null) throw new Error('another instance holds the lease');
      return found;
    };
    const step = async (head: number, changes: readonly FactChange[] = [], more: Partial<Step> = {}) => {
      const held = await lease();
      const isWritten = await networks.commit(held, { ...stepTo(held, head), changes, ...more });
      if (isWritten) await acceptFacts(store.db, networkId);
      return isWritten;
    };
    return { networks, lease, step };
  };

  async function newTenant(kinds: Readonly<Record<string, string | null>>) {
    const networkId = ++lastNetworkId;
    const entityId = await newEntity(store.db);
    for (const [event, finality] of Object.entries(kinds)) {
      await register(store.db, entityId, HOOK, [{ networkId, event }]);
      await setFinality(store.db, entityId, { event }, finality);
    }
    return { entityId, networkId, ...newFollower(networkId) };
  }

  const found = (
    entityId: string,
    networkId: number,
    position: Position,
    more: Partial<FoundFact> = {},
  ): FoundFact => ({
    entityId,
    factId: `fct_${String(++lastFact).padStart(26, 'a')}`,
    networkId,
    sourceId: 'src_1',
    kind: 'Transfer',
    isSilent: false,
    transactionHash: `0x${lastFact.toString(16).padStart(64, '0')}`,
    contract: `0x${'1'.repeat(40)}`,
    position,
    transferId: null,
    agreementId: null,
    fields: { amount: '1.5' },
    ...more,
  });

  /** The events of the entity in their order: `kind finality revision`. */
  async function told(entityId: string): Promise<string[]> {
    const query = { page: 1, limit: 100, sortBy: 'dateCreated', sortDir: 'asc' } as const;
    const { events } = await listEvents(store.db, entityId, query);
    return events.map(({ body }) => {
      const { event, finality, revision } = JSON.parse(body);
      return [event, finality, revision].filter((part) => part !== undefined).join(' ');
    });
  }

  test('keeps what each node refuses for the next holder of the network', async () => {
    const networkId = ++lastNetworkId;
    const { lease, step } = newFollower(networkId);
    expect((await lease()).nodes).toEqual([]);
    const limits = { batch: { size: 3, untilMs: 9_000 }, logs: { good: 90, refused: 110, untilMs: null } };
    const node = {
      ...SILENT_NODE,
      name: `${networkId}#1`,
      state: 'ok',
      lastError: null,
      lastOkAtMs: 1,
      limits,
    } as const;
    await step(5, [], { nodes: [node] });
    expect((await lease()).nodes).toEqual([node]);
  });

  test('tells of a fact when it reaches the finality that each webhook asked for, once', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: '12', TransferFinalized: null });
    await register(store.db, entityId, `${HOOK}/seen`, [{ networkId, event: 'TransferProcessed' }]);
    const fact = found(entityId, networkId, at(100));
    const heard: [number, string][] = [];
    for (let head = 100; head <= 120; head++) {
      const before = await told(entityId);
      await step(head, head === 100 ? [{ change: 'seen', fact, evidence: CONFIRMED }] : [], { final: head - 16 });
      for (const one of (await told(entityId)).slice(before.length)) heard.push([head - 100, one]);
    }
    expect(heard).toEqual([
      [0, 'TransferProcessed seen 1'],
      [11, 'TransferProcessed 12 1'],
      [16, 'TransferFinalized final 1'],
    ]);
    const states = await historyOf(store.db, fact);
    expect(states).toEqual(['seen 100', 'final 100']);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('leaves a stored fact as it is, and tells of the new ones beside it once', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null });
    const facts = [0, 1, 2].map(() => found(entityId, networkId, at(7)));
    const seen = facts.map((fact): FactChange => ({ change: 'seen', fact, evidence: CONFIRMED }));
    await step(9, seen.slice(1, 2));
    expect(await step(10, seen.toReversed())).toBe(true);
    expect(await step(11, seen)).toBe(true);
    expect(await told(entityId)).toEqual(Array.from({ length: 3 }, () => 'TransferProcessed seen 1'));
    for (const fact of facts) expect(await historyOf(store.db, fact)).toEqual(['seen 7']);
  });

  test('gives the payload what the log proves and where it stands', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null });
    const fact = found(entityId, networkId, at(7), { fields: { event: 'no', amount: '2', payer: '0xa' } });
    await step(9, [{ change: 'seen', fact, evidence: CONFIRMED }]);
    const [delivery] = await claim(store.db, entityId);
    expect(JSON.parse(delivery?.body ?? '{}')).toEqual({
      eventId: `${fact.factId}_1_TransferProcessed_seen`,
      event: 'TransferProcessed',
      networkId,
      network: `eip155:${networkId}`,
      dateCreated: expect.any(Number),
      amount: '2',
      payer: '0xa',
      status: 'processed',
      transactionHash: fact.transactionHash,
      ...fact.position,
      contract: fact.contract,
      paymentId: fact.factId.replace('fct_', 'pay_'),
      finality: 'seen',
      confirmations: 3,
      revision: 1,
    });
  });

  test('does not accept an event whose fact is undone while it is being accepted', async () => {
    const { entityId, networkId, networks, lease } = await newTenant({ TransferProcessed: null });
    const facts = [found(entityId, networkId, at(50)), found(entityId, networkId, at(51))];
    const [undone] = facts;
    const write = async (head: number, changes: readonly FactChange[]) => {
      const held = await lease();
      await networks.commit(held, { ...stepTo(held, head), changes });
    };
    await write(
      51,
      facts.map((fact) => ({ change: 'seen', fact, evidence: CONFIRMED })),
    );
    const acceptQueue = new AcceptQueue(store.db, { onDue: () => undefined });
    const acceptInOrder = acceptQueue.acceptInOrder.bind(acceptQueue);
    let isFirst = true;
    acceptQueue.acceptInOrder = async (...args) => {
      if (isFirst && undone !== undefined) {
        await write(52, [{ change: 'lost', lostAtHead: 52, ...undone }]);
        await write(60, [{ change: 'retracted', ...undone }]);
      }
      isFirst = false;
      return acceptInOrder(...args);
    };
    const options = { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined };
    expect(await acceptFactEvents(store.db, networkId, options)).toBe(1);
    expect(await acceptFactEvents(store.db, networkId, options)).toBe(0);
    const { events } = await listEvents(store.db, entityId, {
      page: 1,
      limit: 100,
      sortBy: 'dateCreated',
      sortDir: 'asc',
    });
    expect(events.map(({ body }) => JSON.parse(body).blockNumber)).toEqual([51]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('is silent about a fact that moves, and tells where it is when it is final', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null, TransferFinalized: null });
    const fact = found(entityId, networkId, at(50));
    await step(50, [{ change: 'seen', fact, evidence: CONFIRMED }]);
    await step(52, [{ change: 'lost', lostAtHead: 52, ...fact }]);
    await step(53, [{ change: 'moved', ...fact, position: at(53, 'b') }]);
    expect(await told(entityId)).toEqual(['TransferProcessed seen 1']);
    await step(80, [], { final: 60 });
    expect(await told(entityId)).toEqual(['TransferProcessed seen 1', 'TransferFinalized final 1']);
    expect(await historyOf(store.db, fact)).toEqual(['seen 50', 'lost 50', 'seen 53', 'final 53']);
    const { events } = await listEvents(store.db, entityId, {
      page: 1,
      limit: 10,
      sortBy: 'dateCreated',
      sortDir: 'desc',
    });
    expect(JSON.parse(events[0]?.body ?? '{}')).toMatchObject({ blockNumber: 53, blockHash: at(53, 'b').blockHash });
  });

  test('retracts what was told, and tells of its return as the second revision', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null, TransferFinalized: null });
    const fact = found(entityId, networkId, at(50), { transferId: 't9' });
    await step(50, [{ change: 'seen', fact, evidence: CONFIRMED }]);
    await deliverAll(store.db, entityId);
    await step(52, [{ change: 'lost', lostAtHead: 52, ...fact }]);
    await step(55, [{ change: 'retracted', ...fact }]);
    await deliverAll(store.db, entityId);
    await step(60, [{ change: 'again', ...fact, position: at(60, 'c') }]);
    await step(90, [], { final: 70 });
    const delivered = await deliverAll(store.db, entityId);
    expect(await told(entityId)).toEqual([
      'TransferProcessed seen 1',
      `${RETRACTION} 1`,
      'TransferProcessed seen 2',
      'TransferFinalized final 2',
    ]);
    expect(delivered.map((body) => JSON.parse(body).event)).toEqual(['TransferProcessed', 'TransferFinalized']);
    expect(await historyOf(store.db, fact)).toEqual(['seen 50', 'lost 50', 'retracted 50', 'seen 60', 'final 60']);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('sends the retraction of a payment after a request that was in flight when its webhook moved', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null });
    const fact = found(entityId, networkId, at(50));
    await step(50, [{ change: 'seen', fact }]);
    const inFlight = await claim(store.db, entityId);
    expect(inFlight).toHaveLength(1);
    const moved = 'https://other.example.com/paybell';
    await moveWebhook(store.db, entityId, inFlight[0]?.webhookId ?? '', moved, () => true, TEST_CHANGE);
    await step(52, [{ change: 'lost', lostAtHead: 52, ...fact }]);
    await step(55, [{ change: 'retracted', ...fact }]);
    expect(await claim(store.db, entityId, 100, moved)).toEqual([]);
    await record(store.db, ...inFlight.map((delivery) => attemptThat('delivered', delivery)));
    const [retraction] = await claim(store.db, entityId, 100, moved);
    expect(JSON.parse(retraction?.body ?? '{}')).toMatchObject({ event: RETRACTION });
  });

  test('sends a payment that returns after a redelivery of its retraction, whether that arrives or not', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null });
    for (const end of ['delivered', 'failed'] as const) {
      const fact = found(entityId, networkId, at(50));
      await step(50, [{ change: 'seen', fact }]);
      await deliverAll(store.db, entityId);
      await step(52, [{ change: 'lost', lostAtHead: 52, ...fact }]);
      await step(55, [{ change: 'retracted', ...fact }]);
      const [retraction] = await claim(store.db, entityId);
      if (retraction === undefined) throw new Error('no retraction was claimed');
      await record(store.db, attemptThat('delivered', retraction));
      await redeliver(store.db, entityId, retraction.deliveryId);
      const again = await claim(store.db, entityId);
      expect(again.map(({ kind }) => kind)).toEqual(['redelivery']);
      await step(60, [{ change: 'again', ...fact, position: at(60, 'c') }]);
      expect(await claim(store.db, entityId)).toEqual([]);
      await record(store.db, ...again.map((delivery) => attemptThat(end, delivery)));
      const returned = await deliverAll(store.db, entityId);
      expect(returned.map((body) => JSON.parse(body).revision)).toEqual([2]);
    }
  });

  test('outdates the retraction of a payment that returns: it is not sent again, and a redelivery that waits ends', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null });
    const fact = found(entityId, networkId, at(50));
    await step(50, [{ change: 'seen', fact, evidence: CONFIRMED }]);
    await deliverAll(store.db, entityId);
    await step(52, [{ change: 'lost', lostAtHead: 52, ...fact }]);
    await step(55, [{ change: 'retracted', ...fact }]);
    await deliverAll(store.db, entityId);
    const deliveryOf = async (event: string) => {
      const query = { page: 1, limit: 10, sortBy: 'dateCreated', sortDir: 'asc', event } as const;
      return (await listDeliveries(store.db, entityId, query)).deliveries[0]?.deliveryId ?? '';
    };
    expect(await redeliver(store.db, entityId, await deliveryOf(RETRACTION))).toBe(true);
    await step(60, [{ change: 'again', ...fact, position: at(60, 'c') }]);
    expect((await deliverAll(store.db, entityId)).map((body) => JSON.parse(body).revision)).toEqual([2]);
    const rejected = await rejection(redeliver(store.db, entityId, await deliveryOf(RETRACTION)));
    expect(rejected).toMatchObject({
      kind: 'event_outdated',
      facts: { outdatedBy: `${fact.factId}_2_TransferProcessed_seen` },
    });
    const redeliveryId = await startRedelivery(store.db, entityId, {}, TEST_CHANGE);
    await continueRedelivery(store.db, entityId, redeliveryId);
    expect(await readRedelivery(store.db, entityId, redeliveryId)).toMatchObject({ queued: 1, skipped: 2 });
    expect((await deliverAll(store.db, entityId)).map((body) => JSON.parse(body).revision)).toEqual([2]);
    const { events } = await listEvents(store.db, entityId, {
      page: 1,
      limit: 9,
      sortBy: 'dateCreated',
      sortDir: 'asc',
    });
    expect(events.map(({ retractedBy }) => retractedBy)).toEqual([events[1]?.eventId ?? '', null, null]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('waits for as many statements when a reorganisation undoes many facts as when it undoes few', async () => {
    const waitedFor: number[][] = [];
    for (const each of [2, 30]) {
      const { entityId, networkId } = await newTenant({ TransferProcessed: null });
      let awaited = 0;
      const counted = countAwaited(store.db, () => awaited++);
      const { lease, step } = newFollower(networkId, 'one', counted);
      const names = Array.from({ length: each }, (_, index) => `held-${networkId}-${index}`);
      for (const [index, eventId] of names.entries()) {
        const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId });
        await accept(store.db, { ...event, heldFor: `0x${index.toString(16).padStart(64, '0')}` });
      }
      const { held } = await lease();
      const facts = Array.from({ length: each }, () => found(entityId, networkId, at(50)));
      const both = [...held, ...facts].map(({ factId }) => ({ entityId, factId }));
      await step(50, [
        ...held.map((fact): FactChange => ({ change: 'moved', ...fact, position: at(50) })),
        ...facts.map((fact): FactChange => ({ change: 'seen', fact, evidence: CONFIRMED })),
      ]);
      const waited: number[] = [];
      for (const change of [
        { change: 'lost', lostAtHead: 52 },
        { change: 'moved', position: at(53, 'b') },
        { change: 'lost', lostAtHead: 54 },
        { change: 'retracted' },
        { change: 'again', position: at(60, 'c') },
      ] as const) {
        const held = await lease();
        const before = awaited;
        const changes = both.map((key): FactChange => ({ ...key, ...change }));
        await commitStep(counted, held, { ...stepTo(held, 60), changes });
        waited.push(awaited - before);
        if (change.change === 'retracted')
          expect((await retracted(entityId)).toSorted()).toEqual(
            [...names, ...facts.map(({ factId }) => `${factId}_1_TransferProcessed_seen`)].toSorted(),
          );
      }
      waitedFor.push(waited);
    }
    const [few, many] = waitedFor;
    expect(many).toEqual(few ?? []);
  });

  /** The ids of the events that retractions wait to take back. */
  async function retracted(entityId: string): Promise<string[]> {
    const rows = await store.db.all<{ body: string }>(
      `select body from fact_events where entity_id = $1 and event = '${RETRACTION}'`,
      [entityId],
    );
    return rows.map(({ body }) => JSON.parse(body).retracts.eventId);
  }

  test('forgets an event that no one was told of when its fact is retracted', async () => {
    const { entityId, networkId, networks, lease } = await newTenant({ TransferProcessed: null });
    const fact = found(entityId, networkId, at(50));
    const held = await lease();
    await networks.commit(held, { ...stepTo(held, 50), changes: [{ change: 'seen', fact, evidence: CONFIRMED }] });
    await networks.commit(held, { ...stepTo(held, 52), changes: [{ change: 'lost', lostAtHead: 52, ...fact }] });
    await networks.commit(held, { ...stepTo(held, 55), changes: [{ change: 'retracted', ...fact }] });
    await acceptFacts(store.db, networkId);
    expect(await told(entityId)).toEqual([]);
  });

  test('tells nothing twice after how far the network was read is lost', async () => {
    const { entityId, networkId, step, lease } = await newTenant({ TransferProcessed: null, TransferFinalized: null });
    const facts = [10, 20, 30].map((block) => found(entityId, networkId, at(block)));
    await step(
      31,
      facts.map((fact) => ({ change: 'seen', fact, evidence: CONFIRMED })),
      { final: 15 },
    );
    const before = await told(entityId);
    await store.db.transaction(async (queries) => {
      await queries.run('delete from chains where network_id = $1', [networkId]);
      await queries.run('delete from chain_anchors where network_id = $1', [networkId]);
    });
    expect(await lease()).toMatchObject({ startBlock: 11, state: { tip: null, head: null } });
    await step(
      40,
      facts.map((fact) => ({ change: 'seen', fact, evidence: CONFIRMED })),
      { final: 15 },
    );
    expect(await told(entityId)).toEqual(before);
    await step(60, [], { final: 44 });
    expect((await told(entityId)).slice(before.length)).toEqual([
      'TransferFinalized final 1',
      'TransferFinalized final 1',
    ]);
  });

  describe('a fact below finality', () => {
    const votes = { yes: ['1#1'], no: ['1#2'] };

    test('that too few nodes have shown waits, and is final with the votes of enough', async () => {
      const { entityId, networkId, step, lease } = await newTenant({
        TransferProcessed: null,
        TransferFinalized: null,
      });
      const fact = found(entityId, networkId, at(10));
      await step(60, [{ change: 'seen', fact }], { final: 44 });
      expect(await told(entityId)).toEqual(['TransferProcessed seen 1']);
      const { unconfirmed, isWaiting } = await lease();
      expect(unconfirmed).toMatchObject([{ factId: fact.factId, state: 'seen', isDisputed: false }]);
      expect(isWaiting).toBe(true);
      await step(61, [{ change: 'judged', ...fact, evidence: CONFIRMED }]);
      expect(await told(entityId)).toEqual(['TransferProcessed seen 1', 'TransferFinalized final 1']);
      expect(await lease()).toMatchObject({ unconfirmed: [], isWaiting: false });
      expect(await historyOf(store.db, fact)).toEqual(['seen 10', 'final 10']);
    });

    test('on which nodes are tied leads to no event until the dispute is over, and to one alert', async () => {
      const { entityId, networkId, step, lease, networks } = await newTenant({
        TransferProcessed: null,
        TransferFinalized: null,
      });
      await store.db.transaction((queries) =>
        queries.run('update entities set notice_url = $2 where id = $1', [entityId, `${HOOK}/alerts`]),
      );
      const facts = [50, 50].map((block) => found(entityId, networkId, at(block)));
      await step(
        55,
        facts.map((fact) => ({ change: 'seen', fact })),
        { final: 40 },
      );
      const before = await told(entityId);
      const disputes = facts.map(
        (fact): FactChange => ({ change: 'judged', ...fact, evidence: { votes, standing: 'disputed' } }),
      );
      await step(80, disputes, { final: 60 });
      expect(await told(entityId)).toEqual(before);
      expect((await lease()).unconfirmed).toMatchObject([{ isDisputed: true, votes }, { isDisputed: true }]);
      for (let poll = 0; poll < 2; poll++) await networks.queueAlerts(await lease());
      const alerts = await store.db.all<{ body: string }>(
        `select body from events where network_id = $1 and event = 'chain.stalled'`,
        [networkId],
      );
      expect(alerts.map(({ body }) => JSON.parse(String(body)))).toMatchObject([
        { event: 'chain.stalled', networkId, reason: 'payment_disputed', payments: 2 },
      ]);
      await step(
        81,
        facts.map((fact) => ({ change: 'judged', ...fact, evidence: CONFIRMED })),
      );
      expect((await told(entityId)).filter((one) => one.startsWith('TransferFinalized'))).toHaveLength(2);
    });

    test('that most nodes deny is retracted although its block stands, with the reason', async () => {
      const { entityId, networkId, step } = await newTenant({ TransferProcessed: null });
      const fact = found(entityId, networkId, at(50));
      await step(55, [{ change: 'seen', fact }], { final: 40 });
      const denied = { yes: ['1#1'], no: ['1#2', '1#3'] };
      await step(56, [{ change: 'retracted', ...fact, reason: 'not_on_chain', votes: denied }]);
      expect(await told(entityId)).toEqual(['TransferProcessed seen 1', expect.stringContaining('EventRetracted')]);
      const [row] = await store.db.all<{ body: string }>(
        `select body from events where network_id = $1 and event = 'EventRetracted'`,
        [networkId],
      );
      expect(JSON.parse(String(row?.body))).toMatchObject({ reason: 'not_on_chain' });
      const [stored] = await new NetworkStore(store.db, 'one', () => Promise.resolve([])).factsOf([fact]);
      expect(stored).toMatchObject({ state: 'retracted', votes: denied });
    });
  });

  test('alerts every entity of a network that does not move for five minutes, and again when it does', async () => {
    const { entityId, networkId, step, lease, networks } = await newTenant({ TransferProcessed: null });
    await store.db.transaction(async (queries) => {
      await queries.run('update entities set notice_url = $2 where id = $1', [entityId, `${HOOK}/alerts`]);
      await queries.run(
        `insert into sources (entity_id, id, network_id, contract, topic, hash, definition, from_block, created_head,
           deliver_history, applies_from, created_at) values ($1, 'src_1', $2, '0x1', '0x2', 'h', '{}', 1, 1, 0, 1, 1)`,
        [entityId, networkId],
      );
    });
    const queued = async () => {
      await networks.queueAlerts(await lease());
      const sql = `select event, body from events where network_id = $1 and event like 'chain.%' order by no`;
      const rows = await store.db.all<{ event: string; body: string }>(sql, [networkId]);
      return rows.map(({ event, body }) => [event, (JSON.parse(String(body)) as { reason: string }).reason]);
    };
    const trouble = { reason: 'head_old', node: null } as const;
    await step(50, [], { trouble });
    expect(await queued()).toEqual([]);
    await store.db.transaction((queries) =>
      queries.run('update chains set stalled_since_ms = stalled_since_ms - 300000 where network_id = $1', [networkId]),
    );
    await step(50, [], { trouble });
    await step(50, [], { trouble });
    expect(await queued()).toEqual([['chain.stalled', 'head_old']]);
    await step(51, []);
    await step(52, []);
    expect(await queued()).toEqual([
      ['chain.stalled', 'head_old'],
      ['chain.recovered', 'head_old'],
    ]);
    expect(await store.db.all('select no from chain_alerts where network_id = $1', [networkId])).toEqual([]);
  });

  test('stores history without telling of it', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null, TransferFinalized: null });
    const silent = found(entityId, networkId, at(5), { isSilent: true });
    const loud = found(entityId, networkId, at(6));
    await step(
      60,
      [silent, loud].map((fact): FactChange => ({ change: 'seen', fact, evidence: CONFIRMED })),
      { final: 44 },
    );
    expect(await told(entityId)).toEqual(['TransferProcessed seen 1', 'TransferFinalized final 1']);
    expect(await historyOf(store.db, silent)).toEqual(['final 5']);
    // Also if its block becomes final later.
    const late = found(entityId, networkId, at(58), { isSilent: true });
    await step(61, [{ change: 'seen', fact: late, evidence: CONFIRMED }], { final: 45 });
    await step(80, [], { final: 64 });
    expect(await historyOf(store.db, late)).toEqual(['seen 58', 'final 58']);
    expect(await told(entityId)).toEqual(['TransferProcessed seen 1', 'TransferFinalized final 1']);
  });

  test('removes old facts with their history, and keeps the newest of a network', async () => {
    const { entityId, networkId, step, lease } = await newTenant({ TransferProcessed: null });
    const facts = [5, 6, 7].map((block) => found(entityId, networkId, at(block)));
    await step(
      60,
      facts.map((fact) => ({ change: 'seen', fact, evidence: CONFIRMED })),
      { final: 44 },
    );
    const tomorrow = ageAt(Date.now() + DAY_MS);
    expect(await countOldFacts(store.db, entityId, tomorrow)).toBe(2);
    expect(await removeOldFacts(store.db, entityId, tomorrow, 100)).toBe(2);
    expect(await Promise.all(facts.map((fact) => historyOf(store.db, fact)))).toEqual([[], [], ['final 7']]);
    await store.db.transaction((queries) => queries.run('delete from chains where network_id = $1', [networkId]));
    expect((await lease()).startBlock).toBe(8);
  });

  test('keeps old facts that a paused source reads again, until it has read them', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: null });
    const source = {
      definition: {
        ...{ networkId, preset: null, contract: `0x${'1'.repeat(40)}`, abi: null, event: null },
        ...{ where: {}, fields: {}, fromBlock: 1, deliverHistory: true },
      },
      ...{ topic: '0x1', topics: [['0x1']], head: 1 },
    };
    const { sourceId } = (await createSource(store.db, entityId, source, 10, TEST_CHANGE)).source;
    const pause = (isPaused: boolean) => updateSource(store.db, entityId, sourceId, 1, { isPaused }, TEST_CHANGE);
    const readTo = (block: number) =>
      store.db.transaction((queries) =>
        queries.run('update sources set next_block = $3, last_block = $4 where entity_id = $1 and id = $2', [
          ...[entityId, sourceId, block + 1, block],
        ]),
      );
    const facts = [5, 6, 7].map((block) => found(entityId, networkId, at(block)));
    await step(
      7,
      facts.map((fact) => ({ change: 'seen', fact, evidence: CONFIRMED })),
      { final: 4 },
    );
    await readTo(7);
    await pause(true);
    await step(60, [], { final: 44 });
    const old = () => countOldFacts(store.db, entityId, ageAt(Date.now() + DAY_MS));
    expect(await old()).toBe(0);
    await pause(false);
    expect(await old()).toBe(0);
    await readTo(60);
    expect(await old()).toBe(2);
  });

  const PRUNE = { olderThanMs: 1_000, nowMs: Date.now() + DAY_MS };
  const pruneTomorrow = () =>
    prune(store.db, { ...PRUNE, batches: new PacedBatches(store.engine, PAUSE.foreground), dryRun: false });

  test('keeps the old deliveries of a payment until it is final, so that its retraction finds their receivers', async () => {
    const { entityId, networkId, step } = await newTenant({ TransferProcessed: 'seen' });
    const facts = [50, 51].map((block) => found(entityId, networkId, at(block)));
    await step(
      51,
      facts.map((fact) => ({ change: 'seen', fact, evidence: CONFIRMED })),
      { final: 40 },
    );
    await deliverAll(store.db, entityId);
    await pruneTomorrow();
    expect(await told(entityId)).toHaveLength(2);
    const undone = facts[1] as FoundFact;
    await step(52, [{ change: 'lost', lostAtHead: 52, ...undone }], { final: 50 });
    await step(55, [{ change: 'retracted', ...undone }], { final: 50 });
    await pruneTomorrow();
    const [retraction, ...others] = await deliverAll(store.db, entityId);
    expect(JSON.parse(retraction ?? '{}')).toMatchObject({
      event: RETRACTION,
      transactionHash: undone.transactionHash,
    });
    expect(others).toEqual([]);
    await pruneTomorrow();
    expect([await told(entityId), await readDeliveries(store.db, entityId)]).toEqual([[], []]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('keeps an old held event whose transaction has a block, until its webhooks get it', async () => {
    const { entityId, networkId, step, lease } = await newTenant({ TransferProcessed: 'final' });
    const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId: `held-${networkId}` });
    await accept(store.db, { ...event, heldFor: `0x${'cd'.repeat(32)}` });
    const [held] = (await lease()).held;
    if (held === undefined) throw new Error('the event is not held');
    await step(50, [{ change: 'moved', ...held, position: at(50), evidence: CONFIRMED }], { final: 40 });
    await pruneTomorrow();
    await step(60, [], { final: 50 });
    expect(await deliverAll(store.db, entityId)).toEqual([event.body]);
    await pruneTomorrow();
    expect(await told(entityId)).toEqual([]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('keeps an old final payment for a webhook that counts more confirmations than finality takes', async () => {
    const { entityId, networkId, step, lease } = await newTenant({ TransferProcessed: '100' });
    const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId: `counted-${networkId}` });
    await accept(store.db, { ...event, heldFor: `0x${'ce'.repeat(32)}` });
    const [held] = (await lease()).held;
    if (held === undefined) throw new Error('the event is not held');
    const fact = found(entityId, networkId, at(51));
    const newer = found(entityId, networkId, at(55));
    await step(
      60,
      [
        { change: 'moved', ...held, position: at(50), evidence: CONFIRMED },
        { change: 'seen', fact, evidence: CONFIRMED },
        { change: 'seen', fact: newer, evidence: CONFIRMED },
      ],
      { final: 56 },
    );
    await pruneTomorrow();
    await step(160, [], { final: 130 });
    const payment = 'TransferProcessed 100 1';
    expect((await told(entityId)).slice(1)).toEqual([payment, payment]);
    expect(await deliverAll(store.db, entityId)).toContain(event.body);
    await pruneTomorrow();
    expect(await told(entityId)).toEqual([]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('removes an old fact of a held event whose transaction failed, and one that still waits', async () => {
    const { entityId, networkId, step, lease } = await newTenant({ TransferProcessed: 'seen' });
    for (const name of ['failed', 'waiting']) {
      const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId: `${name}-${networkId}` });
      await accept(store.db, { ...event, heldFor: `0x${name.length.toString(16).padStart(64, '0')}` });
    }
    const { held } = await lease();
    const [failed, waiting] = held;
    if (failed === undefined || waiting === undefined) throw new Error('the events are not held');
    await step(100, [{ change: 'retracted', ...failed }]);
    expect((await lease()).held).toMatchObject([{ factId: waiting.factId }]);
    const nowMs = Date.now();
    // The transaction was asked for a moment before.
    await step(101, [], { asked: [{ ...waiting, isAbsent: false }] });
    const [yesterday, tomorrow] = [ageAt(nowMs - DAY_MS), ageAt(nowMs + DAY_MS)];
    expect(await countOldFacts(store.db, entityId, yesterday)).toBe(0);
    // Its event stays until the end of its day.
    const dayIsKept = { ...tomorrow, eventsBeforeHex: yesterday.eventsBeforeHex };
    expect(await countOldFacts(store.db, entityId, dayIsKept)).toBe(1);
    expect(await countOldFacts(store.db, entityId, tomorrow)).toBe(2);
    expect(await removeOldFacts(store.db, entityId, tomorrow, 100)).toBe(2);
    expect(await Promise.all(held.map((fact) => historyOf(store.db, fact)))).toEqual([[], []]);
    expect((await lease()).held).toEqual([]);
    expect(await countOldFacts(store.db, entityId, tomorrow)).toBe(0);
  });

  test('asks for an absent transaction again after 1, 2, 4, then 8 blocks, and at once after another answer', async () => {
    const { entityId, networkId, step, lease } = await newTenant({ TransferProcessed: 'seen' });
    const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId: `absent-${networkId}` });
    await accept(store.db, { ...event, heldFor: `0x${'ab'.repeat(32)}` });
    const [held] = (await lease()).held;
    if (held === undefined) throw new Error('the event is not held');
    const waitAfter = async (isAbsent: boolean) => {
      await step(100, [], { asked: [{ ...held, isAbsent }] });
      const sql = 'select next_ask_block as block from facts where entity_id = $1';
      return Number((await store.db.get<{ block: number | string }>(sql, [entityId]))?.block) - 100;
    };
    const waits: number[] = [];
    for (let time = 0; time < 6; time++) waits.push(await waitAfter(true));
    expect(waits).toEqual([1, 2, 4, 8, 8, 8]);
    expect((await lease()).held).toEqual([]);
    // In the poll that may read block 108.
    for (const [head, due] of [
      [106, 0],
      [107, 1],
      // The head went back.
      [99, 1],
    ] as const) {
      await step(head, []);
      expect([head, (await lease()).held.length]).toEqual([head, due]);
    }
    expect([await waitAfter(false), await waitAfter(true)]).toEqual([-100, 1]);
  });

  test('refuses the step of an instance whose lease another one has taken', async () => {
    const { entityId, networkId, networks, lease } = await newTenant({ TransferProcessed: null });
    const stale = await lease();
    const other = newFollower(networkId, 'two');
    expect(await other.networks.lease(networkId)).toBeNull();
    await networks.release(networkId);
    const taken = await other.lease();
    expect(taken.token).toBe(stale.token + 1);
    const fact = found(entityId, networkId, at(50));
    expect(
      await networks.commit(stale, { ...stepTo(stale, 50), changes: [{ change: 'seen', fact, evidence: CONFIRMED }] }),
    ).toBe(false);
    expect(await historyOf(store.db, fact)).toEqual([]);
    expect(
      await other.networks.commit(taken, {
        ...stepTo(taken, 50),
        changes: [{ change: 'seen', fact, evidence: CONFIRMED }],
      }),
    ).toBe(true);
  });

  test('gives the lease to another instance if the clock was set back and its holder is gone', async () => {
    const { networkId, lease } = await newTenant({ TransferProcessed: null });
    await lease();
    const other = newFollower(networkId, 'two');
    expect(await other.networks.lease(networkId)).toBeNull();
    const sql = 'update chains set lease_ms = lease_ms + 3600000 where network_id = $1';
    await store.db.transaction((queries) => queries.run(sql, [networkId]));
    expect(await other.networks.lease(networkId)).not.toBeNull();
  });

  test('releases a held event to each webhook at its finality, byte for byte, and retracts it when its transaction is undone', async () => {
    const { entityId, networkId, step, lease } = await newTenant({ TransferProcessed: 'final' });
    await register(store.db, entityId, `${HOOK}/seen`, [{ networkId, event: 'TransferProcessed' }]);
    const transactionHash = `0x${'ab'.repeat(32)}`;
    const body = ` {"event":"TransferProcessed","networkId":${networkId}, "eventId":"held-${networkId}"}`;
    const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId: `held-${networkId}`, body });
    expect(await accept(store.db, { ...event, heldFor: transactionHash })).toMatchObject([{ deliveries: 0 }]);
    const [held] = (await lease()).held;
    expect(held).toMatchObject({ state: 'waiting', isHeld: true, transactionHash });
    if (held === undefined) return;
    await step(100, [{ change: 'moved', ...held, position: at(100) }]);
    expect(await deliverAll(store.db, entityId)).toEqual([body]);
    await step(102, [{ ...held, change: 'lost', lostAtHead: 102 }]);
    await step(106, [{ change: 'retracted', ...held }]);
    const [retraction, ...rest] = await deliverAll(store.db, entityId);
    expect(JSON.parse(retraction ?? '{}')).toMatchObject({ event: RETRACTION, retracts: { eventId: event.eventId } });
    expect(rest).toEqual([]);
    // No log tells of its return: the follower asks for its transaction again.
    expect((await lease()).held).toMatchObject([{ factId: held.factId, state: 'retracted' }]);
    await step(110, [{ change: 'again', ...held, position: at(110) }]);
    expect((await lease()).held).toEqual([]);
    await step(130, [], { final: 114 });
    expect(await deliverAll(store.db, entityId)).toEqual([body, body]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('delivers a held payment again that returns before its retraction was delivered', async () => {
    const { entityId, networkId, networks, lease } = await newTenant({ TransferProcessed: null });
    const body = `{"event":"TransferProcessed","networkId":${networkId},"eventId":"back-${networkId}"}`;
    const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId: `back-${networkId}`, body });
    await accept(store.db, { ...event, heldFor: `0x${'cd'.repeat(32)}` });
    const [held] = (await lease()).held;
    if (held === undefined) throw new Error('the event is not held');
    const acceptQueue = new AcceptQueue(store.db, { onDue: () => undefined });
    const options = { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined };
    const commitAndAccept = async (head: number, change: FactChange) => {
      const held = await lease();
      await networks.commit(held, { ...stepTo(held, head), changes: [change] });
      while ((await acceptFactEvents(store.db, networkId, options)) > 0);
    };
    await commitAndAccept(100, { change: 'moved', ...held, position: at(100) });
    expect(await deliverAll(store.db, entityId)).toEqual([body]);
    await commitAndAccept(102, { ...held, change: 'lost', lostAtHead: 102 });
    await commitAndAccept(106, { change: 'retracted', ...held });
    await commitAndAccept(110, { change: 'again', ...held, position: at(110) });
    await acceptFacts(store.db, networkId);
    const kinds = (await deliverAll(store.db, entityId)).map((one) => JSON.parse(one).event);
    expect(kinds).toEqual([RETRACTION, 'TransferProcessed']);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test.each([
    ['seen', 'final'],
    ['final', 'seen'],
    ['12', 'final'],
  ] as const)(
    'delivers a payment once if the finality of its webhook changes from %s to %s in between',
    async (before, after) => {
      const { entityId, networkId, step } = await newTenant({ TransferProcessed: null });
      await register(store.db, entityId, `${HOOK}/other`, [{ networkId, event: 'TransferProcessed' }]);
      const { webhooks } = await listWebhooks(store.db, entityId, listQuery({ sortDir: 'asc' }));
      const change = (finality: string) => {
        const asked = finalityOf(finality);
        return replaceOptions(
          store.db,
          entityId,
          webhooks[0]?.webhookId ?? '',
          { filter: null, finality: asked },
          TEST_CHANGE,
        );
      };
      await change(before);
      await step(50, [{ change: 'seen', fact: found(entityId, networkId, at(50)) }]);
      await change(after);
      await step(51, [{ change: 'seen', fact: found(entityId, networkId, at(51)) }]);
      for (let head = 52; head < 90; head += 7) await step(head, [], { final: head - 16 });
      await deliverAll(store.db, entityId);
      const deliveries = await readDeliveries(store.db, entityId);
      const ofWebhook = deliveries.filter(({ webhookId }) => webhookId === webhooks[0]?.webhookId);
      // One for each payment, at the finality that the webhook had when the payment was first seen.
      expect(ofWebhook.flatMap(({ eventId }) => eventId.split('_').slice(-1)).sort()).toEqual([before, after].sort());
      expect(new Set(ofWebhook.map(({ eventId }) => eventId.split('_')[1])).size).toBe(2);
      expect(deliveries).toHaveLength(4);
    },
  );

  test('keeps no other entity waiting for a held event that reaches two finalities at once', async () => {
    const { entityId, networkId, networks, lease } = await newTenant({ TransferProcessed: 'final' });
    await register(store.db, entityId, `${HOOK}/seen`, [{ networkId, event: 'TransferProcessed' }]);
    const other = await newEntity(store.db);
    await register(store.db, other, HOOK, [{ networkId, event: 'TransferProcessed' }]);
    const body = JSON.stringify({ event: 'TransferProcessed', networkId, eventId: `both-${networkId}` });
    const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId: `both-${networkId}`, body });
    await accept(store.db, { ...event, heldFor: `0x${'ef'.repeat(32)}` });
    const held = await lease();
    const [heldFact] = held.held;
    if (heldFact === undefined) throw new Error('the event is not held');
    const write = (head: number, changes: readonly FactChange[]) =>
      networks.commit(held, { ...stepTo(held, head), final: 110, changes });
    await write(120, [{ change: 'moved', ...heldFact, position: at(100), evidence: CONFIRMED }]);
    const own = found(entityId, networkId, at(121));
    await write(
      121,
      [own, found(other, networkId, at(121))].map((fact) => ({ change: 'seen', fact, evidence: CONFIRMED })),
    );
    const rows = await store.db.all('select 1 as one from fact_events where network_id = $1', [networkId]);
    expect(rows).toHaveLength(4);
    const acceptQueue = new AcceptQueue(store.db, { onDue: () => undefined });
    let waits = 0;
    const options = {
      ...{ acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined },
      onWaiting: () => waits++,
    };
    const acceptAll = async () => {
      waits = 0;
      for (let round = 0; round < 50 && (await acceptFactEvents(store.db, networkId, options)) > 0; round++);
    };
    await acceptAll();
    expect(await told(other)).toEqual(['TransferProcessed seen 1']);
    expect(waits).toBeGreaterThan(0);
    // What follows of the same entity waits with it.
    expect(await told(entityId)).toEqual(['TransferProcessed']);
    await runTasks(store.db);
    await acceptAll();
    expect(waits).toBe(0);
    expect(await told(entityId)).toEqual(['TransferProcessed', 'TransferProcessed seen 1']);
    expect((await deliverAll(store.db, entityId)).filter((one) => one === body)).toHaveLength(2);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('retracts a held event whose transaction failed: no one was told of it, and it is not asked for again', async () => {
    const { entityId, networkId, step, lease } = await newTenant({ TransferProcessed: 'seen' });
    const event = newEvent(entityId, { event: 'TransferProcessed', networkId, eventId: `failed-${networkId}` });
    await accept(store.db, { ...event, heldFor: `0x${'cd'.repeat(32)}` });
    const [held] = (await lease()).held;
    if (held === undefined) throw new Error('the event is not held');
    await step(100, [{ change: 'retracted', ...held }]);
    expect(await deliverAll(store.db, entityId)).toEqual([]);
    expect((await lease()).held).toEqual([]);
  });
});

/** What was made before then is old. */
function ageAt(beforeMs: number): FactAge {
  return { beforeMs, eventsBeforeHex: firstHexAt(beforeMs) };
}

function at(blockNumber: number, branch = 'a'): Position {
  return { blockNumber, blockHash: `0x${branch}${String(blockNumber).padStart(63, '0')}`, logIndex: 0 };
}

function stepTo({ state }: Lease, head: number): Step {
  const tip = { number: head, hash: at(head).blockHash };
  const { safe, final } = state;
  return {
    ...{ tip, anchors: [tip], head, safe, final, rangeBlocks: 1, blockTimeMs: null },
    ...{ ...PLAIN_STEP, changes: [], backfilled: [], asked: [], nodes: [] },
  };
}

async function acceptFacts(db: Database, networkId: number): Promise<void> {
  const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
  const options = { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined };
  for (let step = 0; step < 50 && (await acceptFactEvents(db, networkId, options)) > 0; step++);
  await runTasks(db);
  if ((await acceptFactEvents(db, networkId, options)) > 0) await runTasks(db);
}

/** Delivers what is due, and what becomes due by it. Returns the bodies in their order. */
async function deliverAll(db: Database, entityId: string): Promise<string[]> {
  const bodies: string[] = [];
  for (let round = 0; round < 10; round++) {
    await runTasks(db);
    const claimed = await claim(db, entityId);
    for (const one of claimed) {
      bodies.push(one.body ?? '');
      await record(db, attemptThat('delivered', one));
    }
    if (claimed.length === 0) break;
  }
  return bodies;
}

async function historyOf(db: Database, { entityId, factId }: FactKey): Promise<string[]> {
  const sql = 'select history from facts where entity_id = $1 and id = $2';
  const row = await db.get<{ history: string }>(sql, [entityId, factId]);
  return parseHistory(row?.history ?? '').map(({ state, blockNumber }) => `${state} ${blockNumber}`);
}
