import { describe, expect, test } from 'bun:test';
import { readHash, readHeader, readLogs, readQuantity, readReceipt } from '../../../src/chain/evm/rpc/values.ts';
import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import { addressOf, wordOf } from '../../support/chain/model-chain.ts';

const LOG = {
  blockNumber: '0x10',
  blockHash: wordOf(0xb1),
  transactionHash: wordOf(0xa1),
  logIndex: '0x0',
  address: addressOf(1),
  topics: [wordOf(1)],
  data: '0x',
  removed: false,
};

function isGarbage(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    return error instanceof RpcFailure && error.kind === 'garbage';
  }
}

test('quantities are read as numbers', () => {
  expect(['0x0', '0x10', '0x1fffffffffffff'].map(readQuantity)).toEqual([0, 16, Number.MAX_SAFE_INTEGER]);
});

test.each(['0x20000000000000', '0xffffffffffffffffff', '16', '0x', '', '0xg', '-0x1', ' 0x1', 16, null, undefined, {}])(
  '%p is no quantity',
  (value) => {
    expect(isGarbage(() => readQuantity(value))).toBe(true);
  },
);

test.each([wordOf(0), wordOf(1).slice(0, -1), `${wordOf(1)}0`, 'b'.repeat(66), null, 7])(
  '%p is no hash of a block',
  (value) => {
    expect(isGarbage(() => readHash(value))).toBe(true);
  },
);

test('a hash is in lower case', () => {
  expect(readHash(`0x${'AB'.repeat(32)}`)).toBe(`0x${'ab'.repeat(32)}`);
});

test('a block that the node has not got is null, and one that is pending is garbage', () => {
  expect(readHeader(null)).toBeNull();
  const header = { number: '0x1', hash: wordOf(0xb1), timestamp: '0x64', extra: 'ignored' };
  expect(readHeader(header)).toEqual({ number: 1, hash: wordOf(0xb1), parentHash: null, timestampS: 100 });
  const parentHash = wordOf(0xb0);
  expect(readHeader({ ...header, parentHash })).toMatchObject({ parentHash });
  expect(isGarbage(() => readHeader({ ...header, hash: null }))).toBe(true);
  expect(isGarbage(() => readHeader({ ...header, hash: wordOf(0) }))).toBe(true);
  expect(isGarbage(() => readHeader([]))).toBe(true);
});

describe('logs', () => {
  test('are read with every field in one form', () => {
    const upper = { ...LOG, address: `0x${'AB'.repeat(20)}`, data: '0xFF' };
    expect(readLogs([upper])).toEqual([
      {
        blockNumber: 16,
        blockHash: LOG.blockHash,
        transactionHash: LOG.transactionHash,
        logIndex: 0,
        address: `0x${'ab'.repeat(20)}`,
        topics: LOG.topics,
        data: '0xff',
      },
    ]);
  });

  test('may have a topic of zeros, as a transfer from nowhere has', () => {
    expect(readLogs([{ ...LOG, topics: [wordOf(1), wordOf(0)] }])).toHaveLength(1);
  });

  test.each(['blockNumber', 'blockHash', 'transactionHash', 'logIndex', 'address', 'topics', 'data'])(
    'without %s are garbage',
    (field) => {
      expect(isGarbage(() => readLogs([{ ...LOG, [field]: undefined }]))).toBe(true);
      expect(isGarbage(() => readLogs([{ ...LOG, [field]: null }]))).toBe(true);
    },
  );

  test.each([
    { removed: true },
    { topics: [1, 2, 3, 4, 5].map(wordOf) },
    { topics: [null] },
    { topics: 'all' },
    { data: '0xf' },
    { data: 'ff' },
    { logIndex: '0x20000000000000' },
  ])('with %p are garbage', (fields) => {
    expect(isGarbage(() => readLogs([{ ...LOG, ...fields }]))).toBe(true);
  });

  test.each([[null], [{}], ['none'], [[null]], [[[]]], [['log']]])('that are %p are garbage', (value: unknown) => {
    expect(isGarbage(() => readLogs(value))).toBe(true);
  });
});

test('a receipt says where the transaction stands and whether it succeeded', () => {
  const receipt = { transactionHash: wordOf(1), blockNumber: '0x2', blockHash: wordOf(3), status: '0x1', logs: [LOG] };
  expect(readReceipt(receipt)).toMatchObject({ blockNumber: 2, isSuccess: true, logs: [{ blockNumber: 16 }] });
  expect(readReceipt({ ...receipt, status: '0x0' })?.isSuccess).toBe(false);
  expect(readReceipt({ ...receipt, status: undefined })?.isSuccess).toBe(true);
  expect(readReceipt({ ...receipt, blockHash: null, blockNumber: null })).toBeNull();
  expect(readReceipt(null)).toBeNull();
  expect(isGarbage(() => readReceipt({ ...receipt, logs: null }))).toBe(true);
});
