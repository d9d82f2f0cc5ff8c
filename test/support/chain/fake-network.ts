import type { RpcCall } from '../../../src/chain/evm/decode/contract-calls.ts';
import type { Log } from '../../../src/chain/evm/rpc/types.ts';
import { SourceTools } from '../../../src/chain/evm/source-tools.ts';
import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import { findEntries } from '../../../src/store/chain/addresses/books.ts';
import { readTokens, saveTokens } from '../../../src/store/chain/tokens.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { CONTRACT, NETWORK, TOKEN, word } from './logs.ts';

const BALANCE_OF = '0x70a08231';

/** A network as the tools of the API see it: a head, contracts, and transactions with their logs. */
export class FakeNetwork {
  constructor(private readonly networkId = NETWORK) {}

  head = 1_000;
  /** Every call fails with this while it is set. */
  failure: RpcFailure | null = null;
  /** The decimals of tokens; a token that is not here reverts. */
  readonly decimals = new Map<string, number>([
    [CONTRACT, 6],
    [TOKEN, 18],
  ]);
  readonly contracts = new Set([CONTRACT, TOKEN]);
  readonly pending = new Set<string>();
  /** By the token, a space and the holder. */
  readonly balances = new Map<string, bigint>();
  /** The coin of addresses. */
  readonly coins = new Map<string, bigint>();
  readonly calls: string[] = [];
  /** Refuses longer ranges of `eth_getLogs`, as providers do. */
  mostBlocks = Number.POSITIVE_INFINITY;
  readonly #transfers = new Map<string, FakeTransfer>();
  readonly #logs = new Map<string, readonly Log[]>();

  /** A transaction that wrote these logs. */
  addTransaction(transactionHash: string, logs: readonly Log[]): void {
    this.#logs.set(transactionHash, logs);
  }

  /** A transaction without logs that moves the coin. */
  addTransfer(transactionHash: string, transfer: FakeTransfer): void {
    this.#transfers.set(transactionHash, transfer);
  }

  /** Takes all transactions away. */
  clear(): void {
    this.#logs.clear();
  }

  readonly call: RpcCall = async (_, method, params) => {
    this.calls.push(method);
    if (this.failure !== null) throw this.failure;
    switch (method) {
      case 'eth_blockNumber':
        return `0x${this.head.toString(16)}`;
      case 'eth_getCode':
        return this.contracts.has(String(params[0])) ? '0x6001' : '0x';
      case 'eth_call':
        return this.#callContract(params[0] as { to: string; data: string });
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(params[0]));
      case 'eth_getLogs':
        return this.#logsIn(params[0] as Filter);
      case 'eth_getTransactionByHash':
        return this.#transaction(String(params[0]));
      case 'eth_getBalance':
        return `0x${(this.coins.get(String(params[0])) ?? 0n).toString(16)}`;
      default:
        throw new RpcFailure('rpc_error', { code: -32601 });
    }
  };

  tools(db: Database): SourceTools {
    const options = { networkIds: [this.networkId], call: this.call };
    return new SourceTools({
      ...options,
      readTokens: (networkId, addresses) => readTokens(db, networkId, addresses),
      saveTokens: (networkId, tokens) => saveTokens(db, networkId, tokens),
      findEntries: (networkId, addresses) => findEntries(db, networkId, addresses),
    });
  }

  #callContract({ to, data }: { to: string; data: string }): string {
    if (data.startsWith(BALANCE_OF)) {
      const balance = this.balances.get(`${to} 0x${data.slice(-40)}`);
      if (balance === undefined) throw new RpcFailure('rpc_error', { code: 3 });
      return word(balance);
    }
    const decimals = this.decimals.get(to);
    if (decimals === undefined) throw new RpcFailure('rpc_error', { code: 3 });
    return word(decimals);
  }

  #logsIn({ fromBlock, toBlock, address, topics }: Filter): object[] {
    const [from, to] = [Number(fromBlock), Number(toBlock)];
    if (to - from + 1 > this.mostBlocks) throw new RpcFailure('rpc_error', { code: -32602 });
    const isWanted = (log: Log) =>
      log.blockNumber >= from &&
      log.blockNumber <= to &&
      address.includes(log.address) &&
      topics.every((values, place) => values === null || values.includes(log.topics[place] ?? ''));
    return [...this.#logs].flatMap(([hash, logs]) => logs.filter(isWanted).map((log) => asSent(hash, log)));
  }

  #transaction(hash: string): object | null {
    const transfer = this.#transfers.get(hash);
    if (transfer !== undefined) return { hash, ...transfer, value: `0x${transfer.value.toString(16)}` };
    return this.pending.has(hash) ? { hash } : null;
  }

  #receipt(transactionHash: string): object | null {
    if (this.#transfers.has(transactionHash)) return { blockNumber: quantity(7), status: '0x1', logs: [] };
    const logs = this.#logs.get(transactionHash);
    if (logs === undefined) return null;
    return {
      blockNumber: quantity(logs[0]?.blockNumber ?? 7),
      status: logs.length === 0 ? '0x0' : '0x1',
      logs: logs.map((log) => asSent(transactionHash, log)),
    };
  }
}

type FakeTransfer = { readonly from: string; readonly to: string; readonly value: bigint };

type Filter = {
  readonly fromBlock: string;
  readonly toBlock: string;
  readonly address: readonly string[];
  readonly topics: readonly (readonly string[] | null)[];
};

function quantity(value: number): string {
  return `0x${value.toString(16)}`;
}

function asSent(transactionHash: string, { blockNumber, logIndex, blockS, ...log }: Log): object {
  return {
    ...log,
    transactionHash,
    blockNumber: quantity(blockNumber),
    logIndex: quantity(logIndex),
    ...(blockS !== undefined && { blockTimestamp: quantity(blockS) }),
  };
}
