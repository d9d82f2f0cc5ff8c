import { expect, test } from 'bun:test';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { CONTRACT, PAYEE, PAYER, presetLog, sourceOf, testDecoder } from '../../support/chain/logs.ts';
import { ModelChain, type ModelTransaction } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';

/** Transactions whose receipt comes from another node than their logs, as behind a URL that routes calls by their method. */

type Request = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
type Reply = { readonly id: number; readonly result: unknown };

/** The blocks of a branch that has the payment. */
type Branch = (paid: ModelTransaction, other: ModelTransaction) => ModelTransaction[][];

const FIRST_BLOCK = 41;

/** A network with one URL. `late` answers requests for receipts, and `current` answers the others. */
async function network() {
  const chain = new ModelChain();
  chain.mineEmpty(FIRST_BLOCK - 1);
  const [current, late] = [new ModelNode(chain, {}, { below: () => 0 }), new ModelNode(chain)];
  const receipts: { change: (receipt: unknown) => unknown } = { change: (receipt) => receipt };
  const url: Exchange = async (payload) => {
    const requests = (Array.isArray(payload) ? payload : [payload]) as Request[];
    const isForReceipt = ({ method }: Request) => method === 'eth_getTransactionReceipt';
    const ask = async (node: ModelNode, asked: readonly Request[]) => (await node.exchange(asked)) as Reply[];
    const fromLate = await ask(late, requests.filter(isForReceipt));
    const changed = fromLate.map(({ id, result }) => ({ id, result: receipts.change(result) }));
    const rest = requests.filter((request) => !isForReceipt(request));
    return [...(await ask(current, rest)), ...changed];
  };
  const source = sourceOf({ preset: 'erc20', where: { to: [PAYEE] }, networkId: 1 }, { fromBlock: FIRST_BLOCK });
  const options = { nodes: [url], sources: [source], startBlock: FIRST_BLOCK, decoder: testDecoder().decoder };
  const followed = new FollowedChain(chain, options);
  await followed.catchUp();
  return { chain, current, late, receipts, followed, store: followed.store };
}

/** A transaction that pays 5 as often as it is told, with equal logs. */
function payment(chain: ModelChain, times = 1): ModelTransaction {
  const { topics, data } = presetLog('erc20', [PAYER, PAYEE, 5n]);
  return chain.transaction({ logs: Array.from({ length: times }, () => ({ address: CONTRACT, topics, data })) });
}

function payments({ store }: FollowedChain) {
  return [...store.facts.values()]
    .filter(({ isHeld }) => !isHeld)
    .map(({ state, revision, position }) => ({ state, revision, position }));
}

const CASES: readonly [string, Branch, Branch][] = [
  ['an earlier block', (paid) => [[paid], [], []], (paid, other) => [[], [], [other, paid], []]],
  ['a block of the same number', (paid) => [[], [paid]], (paid, other) => [[], [other, paid], []]],
  ['a later block', (paid) => [[], [], [paid]], (paid, other) => [[other, paid], [], [], []]],
];

test.each(CASES)('a payment stays one payment if its receipt names %s of another branch', async (_, left, now) => {
  for (const times of [1, 2]) {
    const { chain, late, followed, store } = await network();
    const [paid, other] = [payment(chain, times), payment(chain)];
    const blocks = left(paid, other);
    for (const transactions of blocks) chain.mine(transactions);
    chain.fork(blocks.length, now(paid, other));
    store.hold('held', paid.hash);
    late.faults.lag = 1;
    await followed.pollTimes(2);
    late.faults.lag = 0;
    await followed.pollTimes(2);
    expect(payments(followed)).toHaveLength(times + 1);
    expect(store.counts).toMatchObject({ seen: times + 1, lost: 0, retracted: 0, again: 0 });
    expect(store.fact('held').state).toBe('seen');
  }
});

test('the logs decide if a receipt names another block that the network has', async () => {
  const { chain, receipts, followed, store } = await network();
  const other = chain.mine();
  const paid = payment(chain);
  const block = chain.mine([paid]);
  const place = { blockNumber: `0x${other.number.toString(16)}`, blockHash: other.hash };
  receipts.change = (receipt) => {
    const { logs, ...rest } = receipt as { logs: object[] };
    return { ...rest, ...place, logs: logs.map((log) => ({ ...log, ...place })) };
  };
  store.hold('held', paid.hash);
  await followed.pollTimes(3);
  const position = { blockNumber: block.number, blockHash: block.hash, logIndex: 0 };
  expect(payments(followed)).toMatchObject([{ state: 'seen', revision: 1, position }]);
});

test('a receipt adds the payments that the logs left out', async () => {
  const { chain, current, followed, store } = await network();
  const paid = payment(chain, 2);
  chain.mine([paid]);
  store.hold('held', paid.hash);
  current.faults.omission = { responses: 100, logs: 100 };
  await followed.poll();
  expect(payments(followed)).toHaveLength(2);
  current.faults.omission = { responses: 0, logs: 0 };
  await followed.pollTimes(2);
  expect(payments(followed)).toHaveLength(2);
});
