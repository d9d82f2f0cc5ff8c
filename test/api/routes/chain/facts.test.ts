import { expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { ChainList } from '../../../../src/contract/chain/chains.ts';
import type { FactDetail, FactList } from '../../../../src/contract/chain/facts.ts';
import type { FactChange, FoundFact, Position } from '../../../../src/domain/chain/facts.ts';
import { acceptFactEvents } from '../../../../src/store/chain/fact-events.ts';
import type { Step } from '../../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../../src/store/chain/networks.ts';
import { AcceptQueue } from '../../../../src/store/events/accept-queue.ts';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { CONFIRMED, NO_LIMITS, PLAIN_STEP } from '../../../support/chain/steps.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { register } from '../../../support/webhooks.ts';

const BASE = '/api/v1/crypto';
const FACTS = `${BASE}/facts`;
let lastNetworkId = 7_000;
let lastFact = 0;

const at = (blockNumber: number, branch = 'a'): Position => ({
  blockNumber,
  blockHash: `0x${branch}${String(blockNumber).padStart(63, '0')}`,
  logIndex: 4,
});

function found({ entityId }: Tenant, networkId: number, position: Position, more: Partial<FoundFact> = {}): FoundFact {
  const digits = (++lastFact).toString(16);
  return {
    entityId,
    factId: `fct_${digits.padStart(26, 'a')}`,
    networkId,
    sourceId: 'src_1',
    kind: 'Transfer',
    isSilent: false,
    transactionHash: `0xab${digits.padStart(62, '0')}`,
    contract: `0x${'1'.repeat(40)}`,
    position,
    transferId: null,
    agreementId: null,
    fields: { amount: '1.5', amountBase: '1500000' },
    ...more,
  };
}

onSuiteEngine('facts', (store) => {
  /** Each test has a network of its own. */
  async function setUp() {
    const { db } = store;
    const networkId = ++lastNetworkId;
    const tenant = await createTenant(db);
    const app = testApp(db, { CHAIN_RPC: `${networkId}=https://node.example/secret-key,1=http://127.0.0.1:1` });
    const networks = new NetworkStore(db, 'one', () => Promise.resolve([]));
    const step = async (head: number, changes: readonly FactChange[], more: Partial<Step> = {}) => {
      const lease = await networks.lease(networkId);
      if (lease === null) throw new Error('another instance holds the lease');
      const tip = { number: head, hash: at(head).blockHash };
      const levels = { head, safe: null, final: null, rangeBlocks: 1, blockTimeMs: 2_000 };
      const none = { ...PLAIN_STEP, changes, backfilled: [], asked: [], nodes: [] };
      expect(await networks.commit(lease, { tip, anchors: [tip], ...levels, ...none, ...more })).toBe(true);
      const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
      const options = { acceptQueue, isFull: async () => false, firstDelayMs: 0, onTask: () => undefined };
      for (let count = 1, round = 0; count > 0 && round < 50; round++) {
        count = await acceptFactEvents(db, networkId, options);
      }
    };
    return { networkId, tenant, app, networks, step };
  }

  async function list(app: App, tenant: Tenant, query = ''): Promise<FactList> {
    const response = await call(app, tenant, `${FACTS}?${query}`);
    expect(response.status).toBe(200);
    return (await response.json()) as FactList;
  }

  test('are found by transaction, transfer, agreement, state and network, with exact totals', async () => {
    const { networkId, tenant, app, step } = await setUp();
    const facts = [
      found(tenant, networkId, at(10), { transferId: 't-1', agreementId: 'a-1' }),
      found(tenant, networkId, at(11), { agreementId: 'a-1', isSilent: true }),
      found(tenant, networkId, at(12), { transferId: 't-1' }),
    ];
    await step(
      20,
      facts.map((fact) => ({ change: 'seen', fact, evidence: CONFIRMED })),
      { final: 10 },
    );
    const ids = facts.map(({ factId }) => factId);
    const listed = async (query: string) => {
      const { totalResults, facts: page } = await list(app, tenant, `sortDir=asc&${query}`);
      return [totalResults, ...page.map(({ factId }) => ids.indexOf(factId)).sort()];
    };
    expect(await listed('')).toEqual([3, 0, 1, 2]);
    expect(await listed('transferId=t-1')).toEqual([2, 0, 2]);
    expect(await listed('agreementId=a-1')).toEqual([2, 0, 1]);
    expect(await listed('agreementId=a-1&transferId=t-1')).toEqual([1, 0]);
    const hash = facts[1]?.transactionHash ?? '';
    expect(await listed(`transactionHash=${hash}`)).toEqual([1, 1]);
    expect(await listed(`transactionHash=${hash.toUpperCase().replace('0X', '0x')}`)).toEqual([1, 1]);
    expect(await listed('state=final')).toEqual([1, 0]);
    expect(await listed('state=seen')).toEqual([2, 1, 2]);
    expect(await listed('state=retracted')).toEqual([0]);
    expect(await listed(`networkId=${networkId}`)).toEqual([3, 0, 1, 2]);
    expect(await listed('networkId=1')).toEqual([0]);
    expect((await list(app, tenant, 'limit=2&page=2')).facts).toHaveLength(1);
    expect((await list(app, tenant, `transactionHash=${hash}`)).facts[0]).toEqual({
      factId: ids[1] ?? '',
      networkId,
      sourceId: 'src_1',
      state: 'seen',
      revision: 1,
      kind: 'Transfer',
      isSilent: true,
      isDisputed: false,
      transactionHash: hash,
      contract: `0x${'1'.repeat(40)}`,
      ...at(11),
      transferId: null,
      agreementId: 'a-1',
      fields: { amount: '1.5', amountBase: '1500000' },
      dateCreated: expect.any(Number),
      dateChanged: expect.any(Number),
    });
    expect((await list(app, await createTenant(store.db))).totalResults).toBe(0);
  });

  test('say whether nodes are tied on a payment', async () => {
    const { networkId, tenant, app, step } = await setUp();
    const fact = found(tenant, networkId, at(10));
    const votes = { yes: ['1#1'], no: ['1#2'] };
    await step(30, [{ change: 'seen', fact, evidence: { votes, standing: 'disputed' } }], { final: 20 });
    const isDisputed = async () =>
      (await list(app, tenant)).facts.map(({ state, ...each }) => [state, each.isDisputed]);
    expect(await isDisputed()).toEqual([['seen', true]]);
    await step(31, [{ change: 'judged', ...fact, evidence: CONFIRMED }]);
    expect(await isDisputed()).toEqual([['final', false]]);
  });

  test('tell the history of a payment with its events and deliveries', async () => {
    const { networkId, tenant, app, step } = await setUp();
    const postUrl = 'https://hooks.example.com/paybell';
    const pairs = ['TransferProcessed', 'TransferFinalized'].map((event) => ({ networkId, event }));
    await register(store.db, tenant.entityId, postUrl, pairs);
    const fact = found(tenant, networkId, at(10));
    const key = { entityId: fact.entityId, factId: fact.factId };
    await step(10, [{ change: 'seen', fact, evidence: CONFIRMED }]);
    await step(11, [{ change: 'lost', lostAtHead: 11, ...key }]);
    await step(12, [{ change: 'moved', position: at(12, 'b'), ...key }]);
    await step(30, [], { final: 20 });
    const response = await call(app, tenant, `${FACTS}/${fact.factId}`);
    expect(response.status).toBe(200);
    const detail = (await response.json()) as FactDetail;
    expect(detail).toMatchObject({ factId: fact.factId, state: 'final', blockNumber: 12 });
    expect(detail.history.map(({ state, blockNumber }) => `${state} ${blockNumber}`)).toEqual([
      'seen 10',
      expect.stringMatching(/^lost /),
      'seen 12',
      'final 12',
    ]);
    expect(detail.events.map(({ eventId, event, finality, revision }) => [eventId, event, finality, revision])).toEqual(
      [
        [`${fact.factId}_1_TransferProcessed_seen`, 'TransferProcessed', 'seen', 1],
        [`${fact.factId}_1_TransferFinalized_final`, 'TransferFinalized', 'final', 1],
      ],
    );
    for (const { eventId, totalDeliveries, deliveries } of detail.events) {
      expect(totalDeliveries).toBe(1);
      expect(deliveries).toMatchObject([{ eventId, postUrl, status: 'pending' }]);
    }
  });

  test('400 for an unknown state and unknown parameters', async () => {
    const { tenant, app } = await setUp();
    const problem = await expectProblem(await call(app, tenant, `${FACTS}?state=done&hash=1`), 'invalid_request');
    expect(Object.keys(messagesByName(problem)).sort()).toEqual(['hash', 'state']);
  });

  test('lists of events and deliveries can be of EventRetracted, and the list of webhooks cannot', async () => {
    const { tenant, app } = await setUp();
    for (const path of ['/events', '/deliveries']) {
      expect((await call(app, tenant, `${BASE}${path}?event=EventRetracted`)).status).toBe(200);
    }
    const list = await call(app, tenant, `${BASE}/webhooks/classic?event=EventRetracted`);
    expect(messagesByName(await expectProblem(list, 'invalid_request'))).toHaveProperty('event');
  });

  async function chains(app: App, tenant: Tenant): Promise<ChainList['chains']> {
    const response = await call(app, tenant, `${BASE}/chains`);
    const text = await response.text();
    expect(text).not.toMatch(/secret-key|node\.example|127\.0\.0\.1|http/);
    return (JSON.parse(text) as ChainList).chains;
  }

  test('networks are those of CHAIN_RPC, in its order, with where they stand', async () => {
    const { networkId, tenant, app, step } = await setUp();
    const unread = {
      ...{ reason: null, head: null, safe: null, final: null, tip: null, lagBlocks: null, lagSeconds: null },
      ...{ dateHead: null, headAgeSeconds: null, finalAgeSeconds: null, usualFinalSeconds: null, witnesses: null },
    };
    expect(await chains(app, tenant)).toEqual([
      { networkId, unit: 'block', name: `Network ${networkId}`, state: 'starting', ...unread, nodes: [] },
      { networkId: 1, unit: 'block', name: 'Ethereum', state: 'starting', ...unread, nodes: [] },
    ]);
    const minute = Math.floor(Date.now() / 60_000);
    const node = {
      name: `${networkId}#1`,
      state: 'failing',
      ...{ head: 99, headS: 5, behindBlocks: 1, finalized: 80 },
      lastError: 'timeout',
      lastOkAtMs: 5_000,
      limits: NO_LIMITS,
      calls: [
        { minute: minute - 90, calls: 500 },
        { minute: minute - 30, calls: 30 },
        { minute, calls: 4 },
      ],
    } as const;
    const headS = Math.floor(Date.now() / 1000) - 30;
    await step(100, [], { safe: 90, final: 80, nodes: [node], headS, finalLagMs: 40_000, witnessesNeeded: 2 });
    const levels = { head: 100, safe: 90, final: 80, tip: 100, lagBlocks: 0, dateHead: headS };
    const nodes = [
      {
        ...{ name: node.name, state: 'failing', head: 99, behindBlocks: 1, finalized: 80, lastError: 'timeout' },
        ...{ dateLastOk: 5, headAgeSeconds: expect.any(Number), callsLastHour: 34 },
      },
    ];
    const [chain] = await chains(app, tenant);
    expect(chain).toMatchObject({ state: 'following', reason: null, ...levels, nodes });
    expect(chain).toMatchObject({ usualFinalSeconds: 40, witnesses: { needed: 2, present: 0 } });
    // The age is that of the block, and not that of the last poll.
    expect(chain?.headAgeSeconds).toBeGreaterThanOrEqual(30);
    expect(chain?.finalAgeSeconds).toBe((chain?.headAgeSeconds ?? 0) + 40);
    expect(await chains(testApp(store.db), tenant)).toEqual([]);
  });

  test('a network is behind while blocks are unread or it is not polled, and halted with the reason', async () => {
    const { networkId, tenant, app, networks, step } = await setUp();
    await step(100, [], { head: 150 });
    expect((await chains(app, tenant))[0]).toMatchObject({
      state: 'behind',
      lagBlocks: 50,
      reason: '50 blocks are not read yet.',
    });
    await step(150, []);
    expect((await chains(app, tenant))[0]).toMatchObject({ state: 'following' });
    const sql = 'update chains set polled_at_ms = polled_at_ms - 90000 where network_id = $1';
    await store.db.transaction((queries) => queries.run(sql, [networkId]));
    const [late] = await chains(app, tenant);
    expect(late).toMatchObject({
      state: 'behind',
      reason: expect.stringMatching(/^The last poll was 9\d seconds ago\.$/),
    });
    const lease = await networks.lease(networkId);
    if (lease === null) throw new Error('another instance holds the lease');
    await networks.halt(lease, 'A final block is gone.');
    expect((await chains(app, tenant))[0]).toMatchObject({ state: 'halted', reason: 'A final block is gone.' });
  });
});
