import type { RpcCall } from '../../../src/chain/decode/contract-calls.ts';
import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import type { Log } from '../../../src/chain/rpc/types.ts';
import { SourceTools } from '../../../src/chain/source-tools.ts';
import { readTokens } from '../../../src/store/chain/tokens.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { CONTRACT, NETWORK, TOKEN, word } from './logs.ts';

/** A network as the tools of the API see it: a head, contracts, and transactions with their logs. */
export class FakeNetwork {
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
  readonly calls: string[] = [];
  readonly #logs = new Map<string, readonly Log[]>();

  /** A transaction that wrote these logs. */
  addTransaction(transactionHash: string, logs: readonly Log[]): void {
    this.#logs.set(transactionHash, logs);
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
        return this.#callContract(params[0] as { to: string });
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(params[0]));
      case 'eth_getTransactionByHash':
        return this.pending.has(String(params[0])) ? { hash: params[0] } : null;
      default:
        throw new RpcFailure('rpc_error', { code: -32601 });
    }
  };

  tools(db: Database): SourceTools {
    const options = { networkIds: [NETWORK], call: this.call };
    return new SourceTools({ ...options, readTokens: (networkId, addresses) => readTokens(db, networkId, addresses) });
  }

  #callContract({ to }: { to: string }): string {
    const decimals = this.decimals.get(to);
    if (decimals === undefined) throw new RpcFailure('rpc_error', { code: 3 });
    return word(decimals);
  }

  #receipt(transactionHash: string): object | null {
    const logs = this.#logs.get(transactionHash);
    if (logs === undefined) return null;
    const quantity = (value: number) => `0x${value.toString(16)}`;
    return {
      blockNumber: quantity(logs[0]?.blockNumber ?? 7),
      status: logs.length === 0 ? '0x0' : '0x1',
      logs: logs.map(({ blockNumber, logIndex, ...log }) => ({
        ...log,
        transactionHash,
        blockNumber: quantity(blockNumber),
        logIndex: quantity(logIndex),
      })),
    };
  }
}
