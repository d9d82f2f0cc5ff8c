import { PRACTICE_NETWORK, PRACTICE_TOKEN } from '../../domain/chain/practice.ts';
import type { Exchange } from '../rpc/http-exchange.ts';
import { inProcessExchange, Refused } from './in-process-exchange.ts';
import { FINAL_DEPTH, PracticeChain, SAFE_DEPTH } from './practice-chain.ts';

/** The practice network as a node: it answers the calls of Paybell in the same process, without a connection. */

/** Limits of a request, as providers have them. */
const MAX_BLOCKS = 10_000;
const MAX_LOGS = 10_000;

const NOT_FOUND = -32_601;
const INVALID = -32_602;
const UNKNOWN_BLOCK = -32_000;
const REVERTED = 3;

/** The selector of `decimals()`. */
const DECIMALS = '0x313ce567';
const SIX = `0x${'6'.padStart(64, '0')}`;

export type PracticeOptions = {
  readonly networkId?: number;
  /** Whether the network knows the tag `safe`. */
  readonly hasSafe?: boolean;
  readonly dateMs?: () => number;
};

export function practiceExchange(options: PracticeOptions = {}): Exchange {
  const { networkId = PRACTICE_NETWORK, hasSafe = true, dateMs = Date.now } = options;
  return inProcessExchange(() => {
    const chain = PracticeChain.at(dateMs());
    return (method, params) => resultOf(chain, method, params, { networkId, hasSafe });
  });
}

type Network = Required<Pick<PracticeOptions, 'networkId' | 'hasSafe'>>;

function resultOf(chain: PracticeChain, method: string, params: readonly unknown[], network: Network): unknown {
  const [first] = params;
  switch (method) {
    case 'eth_chainId':
      return `0x${network.networkId.toString(16)}`;
    case 'eth_blockNumber':
      return `0x${chain.head.toString(16)}`;
    case 'eth_getBlockByNumber':
      if (first === 'safe' && !network.hasSafe) throw new Refused(INVALID);
      return chain.block(numberAt(chain, first));
    case 'eth_getLogs':
      return logsFor(chain, first as Filter);
    case 'eth_getTransactionReceipt':
      return chain.receipt(String(first));
    case 'eth_getTransactionByHash':
      return null;
    case 'eth_getCode':
      return first === PRACTICE_TOKEN ? '0x60' : '0x';
    case 'eth_call':
      return call(first as { readonly to: string; readonly data: string });
    default:
      throw new Refused(NOT_FOUND);
  }
}

function numberAt({ head }: PracticeChain, tag: unknown): number {
  if (tag === 'latest') return head;
  if (tag === 'safe') return Math.max(0, head - SAFE_DEPTH);
  if (tag === 'finalized') return Math.max(0, head - FINAL_DEPTH);
  return Number(tag);
}

type Filter = {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
  readonly address: readonly string[];
  readonly topics: readonly (readonly string[] | null)[];
};

function logsFor(chain: PracticeChain, { fromBlock, toBlock, blockHash, address, topics }: Filter): object[] {
  const only = blockHash === undefined ? null : chain.numberOf(blockHash);
  if (blockHash !== undefined && only === null) throw new Refused(UNKNOWN_BLOCK);
  const request = {
    fromBlock: only ?? Number(fromBlock),
    toBlock: only ?? Number(toBlock),
    contracts: address,
    topics,
  };
  const blocks = request.toBlock - request.fromBlock + 1;
  if (blocks > MAX_BLOCKS || chain.countLogs(request) > MAX_LOGS) throw new Refused(INVALID);
  return chain.logs(request);
}

function call({ to, data }: { readonly to: string; readonly data: string }): string {
  if (to !== PRACTICE_TOKEN || data !== DECIMALS) throw new Refused(REVERTED);
  return SIX;
}
