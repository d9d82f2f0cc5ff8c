import { expect, test } from 'bun:test';
import { Follower } from '../../../src/chain/follow/follower.ts';
import type { Call } from '../../../src/chain/rpc/call.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { SOLANA } from '../../../src/chain/solana/family.ts';
import { PRACTICE_MINT, practiceExchange } from '../../../src/chain/solana/practice/practice-exchange.ts';
import { signaturesOf, slotOf, statusesOf, transactionOf } from '../../../src/chain/solana/rpc/calls.ts';
import { SolanaTools } from '../../../src/chain/solana/source-tools.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import { createTenant, TEST_CHANGE } from '../../support/api.ts';
import { onSuiteEngine } from '../../support/stores.ts';

/** A made-up Solana, whose payments follow from the time alone. */

const NETWORK = 901;
const START_MS = 1_767_225_600_000;
const SLOT_MS = 400;
const WALLET = 'Ekw5L3CvrUAPynKH1K43w3Rn7p3xAGWN62Bmku6fefHC';

/** A node whose newest slot is the given one. */
function nodeAt(head: () => number): Node {
  const exchange = practiceExchange(NETWORK, () => START_MS + head() * SLOT_MS);
  return new Node({ name: '901#1', identity: SOLANA.identity(NETWORK), exchange, callsPerSecond: 1_000_000 });
}

async function ask<Result>(head: number, call: Call<Result>): Promise<Result> {
  return (await nodeAt(() => head).send([call])).value(call);
}

test('a made-up Solana undoes a payment before it is final, and nothing that it has called final', async () => {
  const list = signaturesOf(WALLET, { minContextSlot: null });
  const undone = (await ask(100_030, list)).find(({ slot }) => slot === 100_025);
  expect(undone).toBeDefined();
  const status = statusesOf([undone?.signature ?? '']);
  expect((await ask(100_044, status)).statuses).toMatchObject([{ slot: 100_025, level: 'confirmed' }]);
  expect((await ask(100_045, status)).statuses).toEqual([null]);
  for (let head = 100_000; head < 100_600; head += 37) {
    const final = await ask(head, slotOf('finalized'));
    const before = (await ask(head, list)).filter(({ slot }) => slot <= final);
    const now = new Set((await ask(100_700, list)).map(({ signature }) => signature));
    expect(before.every(({ signature }) => now.has(signature))).toBe(true);
  }
});

test('every transaction of a made-up Solana continues the balance of the one before it', async () => {
  const listed = (await ask(100_040, signaturesOf(WALLET, { minContextSlot: null }))).slice(0, 30).toReversed();
  let balance: bigint | undefined;
  for (const { signature } of listed) {
    const transaction = await ask(100_040, transactionOf(signature));
    if (balance !== undefined) expect(transaction?.lamportsBefore[1]).toBe(balance);
    balance = transaction?.lamportsAfter[1];
  }
  expect(listed).toHaveLength(30);
});

onSuiteEngine('a source on a made-up Solana', (suite) => {
  test.each(['spl', 'native'] as const)(
    'gets each payment with the preset %s, and retracts what is undone',
    async (preset) => {
      const { db } = suite;
      // Only one network of this id can be followed on a store.
      for (const table of ['chains', 'chain_accounts', 'sources']) {
        await db.transaction((queries) => queries.run(`delete from ${table} where network_id = $1`, [NETWORK]));
      }
      let head = 200_000;
      const clock = { nowMs: () => head * SLOT_MS, sleep: () => Promise.resolve() };
      const node = nodeAt(() => head);
      const call = async (_: number, method: string, params: readonly unknown[]) => {
        const question: Call<unknown> = { method, params, read: (result) => result };
        return (await node.send([question])).value(question);
      };
      const { entityId } = await createTenant(db);
      const prepared = await new SolanaTools({ call, isPractice: true }).prepareSource({
        ...{
          networkId: NETWORK,
          preset,
          contract: preset === 'spl' ? PRACTICE_MINT : 'native',
          abi: null,
          event: null,
        },
        ...{ where: { to: [WALLET] }, fields: {}, fromBlock: 'latest', deliverHistory: false },
      });
      await createSource(db, entityId, prepared, 1_000, TEST_CHANGE);
      const sources = new FollowedSources();
      const store = new NetworkStore(db, `practice ${preset}`, (queries, id) => sources.read(queries, id));
      const decoder = { decode: async () => [], identify: () => new Map() };
      const follower = new Follower({
        ...{ store, nodes: new Nodes([node]), reader: SOLANA.newReader({ decoder, isPractice: true }) },
        ...{
          networkId: NETWORK,
          finalityDepth: null,
          graceBlocks: 3,
          leastDepth: 1,
          quorum: null,
          clock,
          pollMs: 4_000,
        },
      });
      for (; head < 200_830; head += 10) await follower.poll();
      const facts = await db.all<{ state: string; block_number: number | string }>(
        'select state, block_number from facts where entity_id = $1 order by block_number',
        [entityId],
      );
      const slotsIn = (state: string) =>
        facts.filter((fact) => fact.state === state).map(({ block_number }) => Number(block_number));
      const paid = Array.from({ length: 15 }, (_, place) => 200_050 + 50 * place);
      expect(slotsIn('final')).toEqual(paid);
      expect(slotsIn('retracted')).toEqual([200_025, 200_525]);
    },
  );
});
