import { expect, test } from 'bun:test';
import { GethPair } from '../../support/chain/geth-pair.ts';
import { blockAt } from '../../support/chain/json-rpc.ts';
import { GETH, needs, settingOf } from '../../support/requirements.ts';

const title =
  'a fork of two geth nodes replaces 3 blocks of the first: a payment moves, another is gone, and the tags stay';

test.skipIf(!GETH.isMet)(
  `${title} ${needs(GETH)}`,
  async () => {
    await using pair = await GethPair.start(settingOf(GETH) ?? '');
    const token = await pair.deploy('Token', 'uint8', [6]);
    const payment = (from: number, value: number) => token.call('mint(address,uint256)', [pair.account(from), value]);
    await pair.mine(4);
    const [moved, dropped] = [await pair.sign(1, payment(1, 11)), await pair.sign(2, payment(2, 22))];
    await pair.mine(3, [moved.raw, dropped.raw]);
    await pair.setTags(4, 6);
    const positions = async () => {
      const logs = await pair.a.rpc('eth_getLogs', [{ fromBlock: '0x1', toBlock: 'latest' }]);
      return (logs as { transactionHash: string; blockNumber: string }[]).map((log) => [
        log.transactionHash,
        Number(log.blockNumber),
      ]);
    };
    const tags = () => Promise.all(['latest', 'safe', 'finalized'].map((tag) => blockAt(pair.a.rpc, tag)));
    const [old, safe, finalized] = await tags();
    expect([old?.number, safe?.number, finalized?.number]).toEqual([8, 4, 2]);
    expect(await positions()).toEqual([
      [moved.hash, 6],
      [dropped.hash, 6],
    ]);

    // The account spends its nonce on another payment in the rival branch, so that the first can never be included again.
    const rival = await pair.sign(2, payment(2, 33), 0);
    await pair.fork(3, [[], [rival.raw], [moved.raw], []]);
    const [head, ...others] = await tags();
    expect(await positions()).toEqual([
      [rival.hash, 7],
      [moved.hash, 8],
    ]);
    expect(head?.number).toBe(9);
    expect(others).toEqual([safe ?? null, finalized ?? null]);
    expect(await pair.a.rpc('eth_getTransactionReceipt', [dropped.hash])).toBeNull();
  },
  120_000,
);
