import { expect, test } from 'bun:test';
import type { NewAddress } from '../../../src/contract/chain/addresses.ts';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { findEntries } from '../../../src/store/chain/addresses/books.ts';
import { addAddresses, removeAddresses } from '../../../src/store/chain/addresses/change-book.ts';
import { listAddresses } from '../../../src/store/chain/addresses/list.ts';
import type { Lease, Step } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import { createSource, deleteSource, readSource } from '../../../src/store/chain/sources/sources.ts';
import { readDefinition, updateSource } from '../../../src/store/chain/sources/update.ts';
import { readInteger } from '../../../src/store/database/sql.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { PLAIN_STEP } from '../../support/chain/steps.ts';
import { rejection } from '../../support/rejection.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { newEntity } from '../../support/webhooks.ts';

let lastNetworkId = 13_000;
const LIMITS = { ofEntity: 5_000, ofNetwork: 5_000 };
const QUERY = { page: 1, limit: 10, sortBy: 'dateCreated', sortDir: 'desc' } as const;

const addressOf = (number: number) => `0x${number.toString(16).padStart(40, '0')}`;
const wordOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`;

onSuiteEngine('the address book of a source', (store) => {
  async function setUp() {
    const { db } = store;
    const networkId = ++lastNetworkId;
    const entityId = await newEntity(db);
    const definition: SourceDefinition = {
      ...{ networkId, preset: 'erc20', contract: addressOf(1), abi: null, event: null, where: {}, fields: {} },
      ...{ fromBlock: 'latest', deliverHistory: false, addressBook: 'to' },
    };
    const topics = [null, null, null, null];
    const prepared = { definition, topic: wordOf(7), topics, bookPlace: 2, head: 100 };
    const { source } = await createSource(db, entityId, prepared, 10, TEST_CHANGE);
    const { sourceId } = source;
    const sources = new FollowedSources();
    const network = new NetworkStore(db, 'one', (queries, id) => sources.read(queries, id));
    const lease = async (): Promise<Lease> => {
      const taken = await network.lease(networkId);
      if (taken === null) throw new Error('the network is not free');
      return taken;
    };
    const commit = async (taken: Lease, step: Partial<Step>) => {
      const tip = step.tip ?? taken.state.tip;
      const levels = { tip, anchors: tip === null ? [] : [tip], head: tip?.number ?? 100, safe: null, final: null };
      const nothing = { rangeBlocks: 1, blockTimeMs: null, changes: [], backfilled: [], asked: [], nodes: [] };
      expect(await network.commit(taken, { ...PLAIN_STEP, ...levels, ...nothing, ...step })).toBe(true);
    };
    const add = async (addresses: readonly NewAddress[], limits = LIMITS) => {
      const result = await addAddresses(db, entityId, sourceId, addresses, limits, TEST_CHANGE);
      return result.kind === 'changed' ? result.result : result.kind;
    };
    const remove = async (...numbers: number[]) => {
      const result = await removeAddresses(db, entityId, sourceId, numbers.map(addressOf), TEST_CHANGE);
      return result.kind === 'changed' ? result.result : result.kind;
    };
    const rows = () => readInteger(db, 'count(*)', 'from source_addresses where source_id = $1', [sourceId]);
    const counted = () => readInteger(db, 'address_count', 'from chains where network_id = $1', [networkId]);
    return { db, networkId, entityId, sourceId, lease, commit, add, remove, rows, counted };
  }

  const block = (number: number) => ({ number, hash: wordOf(number) });
  const some = (...numbers: number[]) => numbers.map((number) => ({ address: addressOf(number) }));
  const wordsIn = ({ sources: [source] }: Lease) => [...(source?.book?.addresses.words() ?? [])];

  test('counts from the block after the tip, and a repeated request changes nothing', async () => {
    const { db, entityId, sourceId, lease, commit, add } = await setUp();
    expect(await add(some(1))).toMatchObject({ added: 1, addressCount: 1, fromBlock: 101 });
    await commit(await lease(), { tip: block(120) });
    const [second = { address: '' }] = some(2);
    const given = { ...second, agreementId: 'agr_1', reference: 'order 1' };
    expect(await add([given])).toEqual({
      ...{ added: 1, changed: 0, removed: 0, addressCount: 2, fromBlock: 121, untilBlock: null },
    });
    const before = await readSource(db, entityId, sourceId);
    expect(await add([given])).toMatchObject({ added: 0, changed: 0, addressCount: 2 });
    expect(await readSource(db, entityId, sourceId)).toEqual(before);
    expect(await add([{ ...given, reference: 'order 2' }])).toMatchObject({ added: 0, changed: 1, addressCount: 2 });
    expect(await listAddresses(db, entityId, sourceId, QUERY)).toMatchObject({
      totalResults: 2,
      addresses: [{ address: addressOf(2), agreementId: 'agr_1', reference: 'order 2', fromBlock: 121 }, some(1)[0]],
    });
    const ofAgreement = await listAddresses(db, entityId, sourceId, { ...QUERY, agreementId: 'agr_1' });
    expect(ofAgreement.totalResults).toBe(1);
  });

  test('is known to every poll that begins after the change, and its blocks are read again', async () => {
    const { lease, commit, add, remove } = await setUp();
    const first = await lease();
    await add(some(1));
    // The poll that began before has read blocks without the address.
    await commit(first, { tip: block(130) });
    const second = await lease();
    expect(second.sources).toMatchObject([{ nextBlock: null, lastBlock: null, bookRevision: 1 }]);
    expect(wordsIn(second)).toEqual([wordOf(1)]);
    const [source] = second.sources;
    if (source === undefined) throw new Error('there is no source');
    const { entityId, sourceId } = source;
    await commit(second, { backfilled: [{ entityId, sourceId, nextBlock: 131, lastBlock: 130 }] });
    const third = await lease();
    await add(some(2, 3));
    // The next poll takes over the blocks that this poll reads without the addresses.
    await commit(third, { tip: block(140), backfilled: [{ entityId, sourceId, nextBlock: 141, lastBlock: 140 }] });
    const fourth = await lease();
    expect(fourth.sources).toMatchObject([{ nextBlock: 131, lastBlock: 140, bookRevision: 2 }]);
    expect(wordsIn(fourth)).toEqual([1, 2, 3].map(wordOf));
    expect(await remove(2)).toMatchObject({ removed: 1, addressCount: 2, untilBlock: 140 });
  });

  test('is read in every poll, even if each poll meets another change', async () => {
    const { entityId, sourceId, lease, commit, add } = await setUp();
    const progress = (nextBlock: number, lastBlock: number) => [{ entityId, sourceId, nextBlock, lastBlock }];
    await commit(await lease(), { tip: block(120), backfilled: progress(121, 120) });
    await add(some(1));
    let tip = 120;
    for (let round = 2; round < 12; round++) {
      const taken = await lease();
      const [before] = taken.sources;
      // All blocks of earlier polls are read or taken over.
      expect(before).toMatchObject(round === 2 ? { nextBlock: 121 } : { nextBlock: tip - 9, lastBlock: tip });
      expect(wordsIn(taken)).toHaveLength(round - 1);
      await add(some(round));
      await commit(taken, { tip: block(tip + 10), backfilled: progress(tip + 1, tip) });
      tip += 10;
    }
    const quiet = await lease();
    await commit(quiet, { backfilled: progress(tip + 1, tip) });
    expect((await lease()).sources).toMatchObject([{ nextBlock: tip + 1, lastBlock: tip }]);
  });

  test('takes over the first of several changes during a poll', async () => {
    const { entityId, sourceId, lease, commit, add } = await setUp();
    const taken = await lease();
    await commit(taken, { tip: block(120), backfilled: [{ entityId, sourceId, nextBlock: 121, lastBlock: 120 }] });
    await add(some(1));
    await commit(taken, { tip: block(130) });
    await add(some(2));
    await commit(taken, { tip: block(140) });
    expect((await lease()).sources).toMatchObject([{ nextBlock: 121, lastBlock: 140 }]);
  });

  test('keeps a removed address until its blocks are final and read', async () => {
    const { networkId, entityId, sourceId, lease, commit, add, remove, rows, counted } = await setUp();
    const key = { entityId, sourceId };
    await commit(await lease(), { tip: block(120), backfilled: [{ ...key, nextBlock: 121, lastBlock: 120 }] });
    const early = await lease();
    await add(some(1, 2));
    await commit(early, { tip: block(130) });
    expect(await remove(1, 9)).toMatchObject({ removed: 1, addressCount: 1, untilBlock: 130 });
    expect(await findEntries(store.db, networkId, [addressOf(1)])).toMatchObject([{ fromBlock: 121, untilBlock: 130 }]);
    // Final, but the blocks from 121 on are still unread for the new addresses.
    await commit(await lease(), { tip: block(150), final: 140 });
    await commit(await lease(), { backfilled: [{ ...key, nextBlock: 126, lastBlock: 130 }], final: 140 });
    await lease();
    expect(await rows()).toBe(2);
    await commit(await lease(), { backfilled: [{ ...key, nextBlock: 131, lastBlock: 130 }], final: 140 });
    await lease();
    expect([await rows(), await counted()]).toEqual([1, 1]);
  });

  test('keeps a removed address while the source is paused', async () => {
    const { db, entityId, sourceId, lease, commit, add, remove, rows } = await setUp();
    const key = { entityId, sourceId };
    await add(some(1));
    await commit(await lease(), {
      tip: block(120),
      backfilled: [{ ...key, nextBlock: 121, lastBlock: 120 }],
      final: 110,
    });
    const revision = (await readDefinition(db, entityId, sourceId))?.revision ?? 0;
    await updateSource(db, entityId, sourceId, revision, { isPaused: true }, TEST_CHANGE);
    await remove(1);
    await commit(await lease(), { tip: block(150), final: 140 });
    await lease();
    expect(await rows()).toBe(1);
  });

  test('has an address that is added again without an interruption', async () => {
    const { networkId, entityId, sourceId, lease, commit, add, remove } = await setUp();
    await add(some(1));
    const backfilled = [{ entityId, sourceId, nextBlock: 131, lastBlock: 130 }];
    await commit(await lease(), { tip: block(130), backfilled });
    await remove(1);
    await commit(await lease(), { tip: block(140) });
    expect(await add(some(1))).toMatchObject({ added: 1, addressCount: 1, fromBlock: 141 });
    expect(await findEntries(store.db, networkId, [addressOf(1)])).toMatchObject([
      { fromBlock: 101, untilBlock: null },
    ]);
    expect((await lease()).sources).toMatchObject([{ nextBlock: 131, lastBlock: 140 }]);
  });

  test('leaves a payment out that a poll found by an address which was removed since', async () => {
    const { db, networkId, entityId, sourceId, lease, commit, add, remove } = await setUp();
    await add(some(1, 2));
    await commit(await lease(), { tip: block(120) });
    const taken = await lease();
    await remove(1);
    const factIn = (number: number, payee: number) => ({
      change: 'seen' as const,
      fact: {
        ...{ entityId, sourceId, networkId, kind: 'Transfer', isSilent: false, contract: addressOf(1) },
        ...{ transactionHash: wordOf(number * 10 + payee), transferId: null, agreementId: null, fields: {} },
        ...{ factId: `fct_${number}_${payee}`, bookAddress: addressOf(payee) },
        position: { blockNumber: number, blockHash: wordOf(number), logIndex: payee },
      },
    });
    const changes = [factIn(119, 1), factIn(121, 1), factIn(121, 2)];
    await commit(taken, { tip: block(121), changes });
    const rows = await db.all<{ id: string }>('select id from facts where entity_id = $1 order by id', [entityId]);
    expect(rows.map(({ id }) => id)).toEqual(['fct_119_1', 'fct_121_2']);
  });

  test('has limits for the entity and for the network, in which removed addresses count', async () => {
    const { lease, commit, add, remove } = await setUp();
    const limits = { ofEntity: 3, ofNetwork: 4 };
    await add(some(1, 2), limits);
    await commit(await lease(), { tip: block(120) });
    await remove(1);
    const tooMany = await rejection(add(some(3, 4), limits));
    expect(tooMany).toMatchObject({ kind: 'address_limit', facts: { limit: 3, setting: 'ENTITY_ADDRESS_LIMIT' } });
    expect(await add(some(1, 3), limits)).toMatchObject({ added: 2, addressCount: 3 });
    const ofNetwork = await rejection(add(some(4, 5), { ofEntity: 9, ofNetwork: 4 }));
    expect(ofNetwork).toMatchObject({ kind: 'address_limit', facts: { limit: 4, setting: 'CHAIN_ADDRESS_LIMIT' } });
  });

  test('goes with its source, by a task', async () => {
    const { db, entityId, sourceId, add, remove, rows, counted } = await setUp();
    await add(some(...Array.from({ length: 900 }, (_, number) => number + 1)));
    expect(await counted()).toBe(900);
    await deleteSource(db, entityId, sourceId, TEST_CHANGE);
    expect([await add(some(1)), await remove(1)]).toEqual(['absent', 'absent']);
    await runTasks(db);
    expect([await rows(), await counted()]).toEqual([0, 0]);
  });

  test('belongs to a source that was created with one', async () => {
    const { db, networkId, entityId } = await setUp();
    const definition = { networkId, preset: 'erc20' as const, contract: addressOf(2), abi: null, event: null };
    const plain = { ...definition, where: { to: [addressOf(3)] }, fields: {}, fromBlock: 1, deliverHistory: false };
    const prepared = { definition: plain, topic: wordOf(7), topics: [null], head: 100 };
    const { source } = await createSource(db, entityId, prepared, 10, TEST_CHANGE);
    const result = await addAddresses(db, entityId, source.sourceId, some(1), LIMITS, TEST_CHANGE);
    expect(result).toEqual({ kind: 'no_book' });
  });
});
