import { expect, test } from 'bun:test';
import { datedBy, hashesOf } from '../../../../../src/chain/evm/follow/blocks/read-blocks.ts';
import type { Log } from '../../../../../src/chain/evm/rpc/types.ts';

const log = (blockNumber: number, blockHash: string, transactionHash: string): Log => ({
  ...{ blockNumber, blockHash, transactionHash },
  ...{ logIndex: 0, address: '0x', topics: [], data: '0x' },
});

test('the blocks that logs name are those of one fork', () => {
  expect(hashesOf([log(1, 'a', 't1'), log(1, 'a', 't2'), log(2, 'b', 't3')])).toEqual(
    new Map([
      [1, 'a'],
      [2, 'b'],
    ]),
  );
});

test('logs of two blocks of one number, or of one transaction in two blocks, are of none', () => {
  expect(hashesOf([log(1, 'a', 't1'), log(1, 'b', 't2')])).toBeNull();
  expect(hashesOf([log(1, 'a', 't1'), log(2, 'b', 't1')])).toBeNull();
});

test('a log without a date takes it from the header of its own block alone', () => {
  const header = { number: 2, hash: 'b', parentHash: 'a', timestampS: 1_763_168_398 };
  const sent = { ...log(2, 'b', 't2'), blockS: 1_763_168_000 };
  const dates = datedBy(header, [log(1, 'a', 't1'), log(2, 'b', 't3'), sent]).map(({ blockS }) => blockS);
  expect(dates).toEqual([undefined, 1_763_168_398, 1_763_168_000]);
});
