import type { Mutant } from '../mutant.ts';

/** Families of networks: addresses, the meaning of answers, and what only one family has. */
export const families: readonly Mutant[] = [
  {
    name: 'tron-checksum-unread',
    what: 'takes an address of Tron with a wrong letter for another address',
    file: 'domain/chain/families/tron.ts',
    find: 'return isRight ? `0x${address.subarray(1).toHex()}` : null;',
    replace: 'return isRight || address.length > 0 ? `0x${address.subarray(1).toHex()}` : null;',
    caughtBy: { file: 'domain/chain/families/families', test: 'with one wrong letter is rejected' },
  },
  {
    name: 'tron-limit-is-garbage',
    what: 'takes the rate limit of a node of Tron for an answer that is not JSON-RPC',
    file: 'chain/tron/family.ts',
    find: "return isRefusal ? new RpcFailure('rate_limited') : null;",
    replace: "return isRefusal ? new RpcFailure('garbage') : null;",
    caughtBy: { file: 'chain/tron/dialect', test: 'a body with Error and no result is a rate limit' },
  },
  {
    name: 'tron-large-batch-is-rate',
    what: 'waits after a node of Tron has refused a large batch, and sends the same batch again',
    file: 'chain/tron/family.ts',
    find: 'rateLimitCodes: [429, -32029]',
    replace: 'rateLimitCodes: [429, -32005, -32029]',
    caughtBy: { file: 'chain/tron/dialect', test: 'for a whole batch makes batches smaller' },
  },
  {
    name: 'tron-prefix-needed',
    what: 'does not find the payment of a transaction of Tron that is written without 0x',
    file: 'domain/chain/families/families.ts',
    find: 'const HASH = /^(?:0x)?([0-9a-f]{64})$/i;',
    replace: 'const HASH = /^0x([0-9a-f]{64})$/i;',
    caughtBy: { file: 'api/routes/chain/tron', test: 'found by either form of an address and a transaction' },
  },
];
