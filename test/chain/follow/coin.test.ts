import { describe, expect, test } from 'bun:test';
import { NATIVE_TOKEN } from '../../../src/domain/chain/coin.ts';
import { FollowedChain } from '../../support/chain/followed-chain.ts';
import { PAYEE, PAYER, sourceOf, testDecoder, word } from '../../support/chain/logs.ts';
import { addressOf, ModelChain, type ModelTransaction } from '../../support/chain/model-chain.ts';
import { changing, type Faults, ModelNode } from '../../support/chain/model-node.ts';

const SOURCE = sourceOf(
  { networkId: 1, preset: 'native', contract: NATIVE_TOKEN, where: { to: [PAYEE] } },
  { networkId: 1, topics: [null, null, [word(BigInt(PAYEE))], null] },
);

function setUp(nodes: readonly Partial<Faults>[] = [{}], sources = [SOURCE]) {
  const chain = new ModelChain();
  chain.mineEmpty(20);
  const models = nodes.map((faults) => new ModelNode(chain, { finalized: 4, safe: 2, ...faults }));
  const follow = (exchanges = models.map(({ exchange }) => exchange)) =>
    new FollowedChain(chain, { nodes: exchanges, sources, startBlock: 21, decoder: testDecoder().decoder });
  const pay = (value = 5n, to = PAYEE): ModelTransaction => chain.transaction({ transfer: { from: PAYER, to, value } });
  return { chain, models, follow, pay };
}

const paymentsIn = ({ store }: FollowedChain) =>
  [...store.facts.values()].map(({ state, position, transactionHash }) => ({
    ...{ state, transactionHash },
    blockHash: position?.blockHash,
  }));

describe('the coin of a network', () => {
  test('is read from direct transfers to the addresses of a source that succeeded', async () => {
    const { chain, follow, pay } = setUp();
    const paid = pay();
    const followed = follow();
    await followed.catchUp();
    const block = chain.mine([
      ...[paid, pay(0n), pay(5n, addressOf(3)), chain.transaction()],
      { ...pay(), isSuccess: false },
    ]);
    await followed.catchUp();
    expect(paymentsIn(followed)).toEqual([{ state: 'seen', transactionHash: paid.hash, blockHash: block.hash }]);
    const [fact] = followed.store.facts.values();
    expect(fact?.position).toMatchObject({ logIndex: 0, blockS: block.timestampS });
    for (let blocks = 0; blocks < 8; blocks++) {
      chain.mine();
      await followed.pollTimes(2);
    }
    expect(paymentsIn(followed)).toMatchObject([{ state: 'final' }]);
  });

  test('costs no whole block on a network without a source of it', async () => {
    const whole: unknown[] = [];
    const { chain, models, follow } = setUp([{}], [sourceOf({ networkId: 1, preset: 'erc20' }, { networkId: 1 })]);
    const [model] = models;
    const followed = follow([
      changing(model?.exchange ?? (() => Promise.reject()), ({ method, params }, answer) => {
        if (method.startsWith('eth_getBlock') && params[1] === true) whole.push(params[0]);
        return answer;
      }),
    ]);
    chain.mineEmpty(30);
    await followed.catchUp();
    expect(whole).toEqual([]);
  });

  test.each([
    ['includes the transaction again', true],
    ['drops the transaction', false],
  ])(
    'is not taken from a block that a fork replaces between the match and its receipt, if the fork %s',
    async (_, isBack) => {
      const { chain, models, follow, pay } = setUp();
      const paid = pay();
      let forks = 0;
      const exchange = models[0]?.exchange;
      const followed = follow([
        async (payload) => {
          const isReceipt = JSON.stringify(payload).includes('eth_getTransactionReceipt');
          // The block was read, and its receipts come from the other branch.
          if (isReceipt && forks++ === 0) chain.fork(1, [[], isBack ? [paid] : []]);
          return exchange?.(payload);
        },
      ]);
      await followed.catchUp();
      const before = chain.mine([paid]);
      await followed.poll();
      expect(forks).toBeGreaterThan(0);
      expect(paymentsIn(followed).filter(({ blockHash }) => blockHash === before.hash)).toEqual([]);
      await followed.catchUp();
      const { hash } = chain.blocks.at(-1) ?? {};
      const again = { state: 'seen' as const, transactionHash: paid.hash, blockHash: hash };
      expect(paymentsIn(followed)).toEqual(isBack ? [again] : []);
    },
  );

  test('comes back under the same id from the block of another branch, and goes if it does not return', async () => {
    const { chain, follow, pay } = setUp();
    const [returns, dropped] = [pay(), pay()];
    const followed = follow();
    await followed.catchUp();
    chain.mine([returns, dropped]);
    await followed.catchUp();
    const ids = [...followed.store.facts.keys()];
    chain.fork(1, [[], [returns]]);
    await followed.catchUp();
    chain.mineEmpty(6);
    await followed.pollTimes(10);
    expect([...followed.store.facts.keys()]).toEqual(ids);
    const states = new Map(paymentsIn(followed).map(({ transactionHash, state }) => [transactionHash, state]));
    expect(states.get(dropped.hash)).toBe('retracted');
    expect(['seen', 'final']).toContain(states.get(returns.hash) ?? '');
  });

  test('of an amount that one of three nodes invents never becomes final', async () => {
    const { chain, models, follow, pay } = setUp([{}, {}, {}]);
    const paid = pay(5n);
    const raise = (text: string) => text.replaceAll('"value":"0x5"', '"value":"0x50"');
    const followed = follow(
      models.map(({ exchange }, at) =>
        at > 0 ? exchange : async (payload) => JSON.parse(raise(JSON.stringify(await exchange(payload)))) as unknown,
      ),
    );
    await followed.catchUp();
    chain.mine([paid]);
    await followed.catchUp();
    for (let block = 0; block < 12; block++) {
      chain.mine();
      await followed.pollTimes(2);
    }
    const facts = [...followed.store.facts.values()].map(({ state, votes }) => [state, votes.yes.length]);
    // The invented one was seen first, and retracted once the others denied it.
    expect(facts.filter(([state]) => state === 'final')).toEqual([['final', 2]]);
    expect(facts.filter(([state]) => state !== 'final' && state !== 'retracted')).toEqual([]);
  });
});
