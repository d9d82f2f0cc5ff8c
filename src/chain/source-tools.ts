import { notFollowed } from '../contract/chain/network-problems.ts';
import { MAX_LOGS_SHOWN, type SourcePreview } from '../contract/chain/sources.ts';
import { type InputError, invalidRequest, Problem } from '../contract/problems.ts';
import { kindsOf } from '../domain/chain/facts.ts';
import { hasLogs } from '../domain/chain/network-nodes.ts';
import { definitionHash, type SourceDefinition } from '../domain/chain/source-definition.ts';
import type { FollowedSource } from '../store/chain/network-store.ts';
import type { PreparedSource } from '../store/chain/sources/sources.ts';
import { loadAbiLibrary } from './decode/abi-library.ts';
import { contractCalls, type RpcCall } from './decode/contract-calls.ts';
import { LogDecoder } from './decode/decoder.ts';
import { type Compiled, compileSource, topicsOf } from './decode/definition/compile-source.ts';
import type { TokenStore } from './decode/token-decimals.ts';
import { logExplainer } from './explain-log.ts';
import { RpcFailure } from './rpc/failures.ts';
import type { Log } from './rpc/types.ts';
import { readData, readLogs, readQuantity } from './rpc/values.ts';

export type SourceToolsOptions = {
  /** The networks of `CHAIN_RPC`. */
  readonly networkIds: readonly number[];
  readonly call: RpcCall;
  readonly readTokens: TokenStore['read'];
};

const RETRY_AFTER_S = 5;

/** What the API needs of a network to create and to try a source. Everything that is wrong is a problem with its fix. */
export class SourceTools {
  constructor(private readonly options: SourceToolsOptions) {}

  /** Checks a definition against the network, and says where the network stands. */
  async prepareSource(definition: SourceDefinition): Promise<PreparedSource> {
    const { networkId, fromBlock } = definition;
    this.#requireFollowed(networkId);
    const { source, definition: written } = await compile(definition);
    const [head, code] = await Promise.all([
      this.#ask(networkId, 'eth_blockNumber', [], readQuantity),
      this.#ask(networkId, 'eth_getCode', [source.contract, 'latest'], readData),
    ]);
    const errors: InputError[] = [];
    if (code === '0x') {
      errors.push({
        in: 'body',
        name: 'contract',
        message: `has no code on network ${networkId}: no contract is there`,
      });
    }
    if (fromBlock !== 'latest' && fromBlock > head) {
      const message = `must be at most ${head}, which is the newest block now, or "latest" for the blocks from now on`;
      errors.push({ in: 'body', name: 'fromBlock', message });
    }
    if (errors.length > 0) throw invalidRequest(errors);
    return { definition: written, topic: source.event.topic, topics: [null, ...topicsOf(source)], head };
  }

  /** What would be made of a transaction, by a definition that is not stored or by the given sources. Nothing is stored. */
  async preview(
    networkId: number,
    wanted: SourceDefinition | readonly FollowedSource[],
    transactionHash: string,
  ): Promise<SourcePreview> {
    this.#requireFollowed(networkId);
    const definition = 'length' in wanted ? null : (await compile(wanted)).definition;
    const sources = 'length' in wanted ? wanted : [asSource(definition ?? wanted)];
    const receipt = await this.#readReceipt(networkId, transactionHash.toLowerCase());
    const { call, readTokens } = this.options;
    // A decoder of its own, which keeps nothing.
    const decoder = new LogDecoder({
      tokens: { read: readTokens, save: async () => undefined },
      callContract: contractCalls(call),
    });
    const logs = receipt.logs;
    const facts = await this.#responding(networkId, () => decoder.decode(logs, sources));
    const taken = new Set(facts.map(({ position }) => position.logIndex));
    const others = logs.filter(({ logIndex }) => !taken.has(logIndex)).slice(0, MAX_LOGS_SHOWN);
    const explain = definition === null ? () => 'No source takes it.' : await logExplainer(definition);
    const library = await loadAbiLibrary();
    return {
      networkId,
      transactionHash: transactionHash.toLowerCase(),
      blockNumber: receipt.blockNumber,
      isSuccess: receipt.isSuccess,
      logs: logs.length,
      events: facts.map(({ factId, sourceId, kind, position: { logIndex }, contract, fields }) => ({
        factId,
        sourceId: definition === null ? sourceId : null,
        kind,
        events: [...kindsOf(kind)],
        logIndex,
        contract,
        fields,
      })),
      others: others.map((log) => ({
        logIndex: log.logIndex,
        contract: library.checksumAddress(log.address),
        reason: explain(log),
      })),
    };
  }

  #requireFollowed(networkId: number): void {
    if (!hasLogs(networkId)) {
      const message = 'is Solana, whose transactions have no logs of contracts; sources are for EVM networks';
      throw invalidRequest([{ in: 'body', name: 'networkId', message }]);
    }
    if (!this.options.networkIds.includes(networkId)) throw notFollowed(networkId);
  }

  async #readReceipt(networkId: number, transactionHash: string): Promise<Receipt> {
    const receipt = await this.#ask(networkId, 'eth_getTransactionReceipt', [transactionHash], readReceipt);
    if (receipt !== null) return receipt;
    const transaction = await this.#ask(networkId, 'eth_getTransactionByHash', [transactionHash], (result) => result);
    if (transaction !== null) {
      const detail = `The transaction ${transactionHash} is in no block of network ${networkId} yet. Try again once it is.`;
      throw new Problem('transaction_pending', detail, { headers: { 'retry-after': String(RETRY_AFTER_S) } });
    }
    const detail = `No node of network ${networkId} knows the transaction ${transactionHash}. Check the hash and the network.`;
    throw new Problem('transaction_not_found', detail);
  }

  #ask<Result>(
    networkId: number,
    method: string,
    params: readonly unknown[],
    read: (result: unknown) => Result,
  ): Promise<Result> {
    return this.#responding(networkId, async () => read(await this.options.call(networkId, method, params)));
  }

  /** Nothing that a node says about itself is passed on: it may hold its URL. */
  async #responding<Value>(networkId: number, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      const detail = `No node of network ${networkId} gives a usable response at the moment. Try again.`;
      throw new Problem('network_unavailable', detail, { headers: { 'retry-after': String(RETRY_AFTER_S) } });
    }
  }
}

async function compile(definition: SourceDefinition): Promise<Extract<Compiled, { isValid: true }>> {
  const compiled = compileSource(definition, await loadAbiLibrary());
  if (compiled.isValid) return compiled;
  throw invalidRequest(compiled.errors.map((error) => ({ in: 'body', ...error })));
}

type Receipt = { readonly blockNumber: number; readonly isSuccess: boolean; readonly logs: readonly Log[] };

function readReceipt(result: unknown): Receipt | null {
  if (result === null) return null;
  if (typeof result !== 'object') throw new RpcFailure('garbage');
  const { blockNumber, status, logs } = result as Readonly<Record<string, unknown>>;
  // A node that has just received the transaction may have a receipt without a block.
  if (blockNumber === null) return null;
  return { blockNumber: readQuantity(blockNumber), isSuccess: status !== '0x0', logs: readLogs(logs) };
}

/** Takes logs of any block. The hash stands for the id, so that no two definitions are taken for the same source. */
function asSource(definition: SourceDefinition): FollowedSource {
  return {
    entityId: '',
    sourceId: definitionHash(definition),
    networkId: definition.networkId,
    contract: definition.contract,
    topic: '',
    definition,
    fromBlock: 0,
    createdHead: 0,
    deliverHistory: true,
    nextBlock: null,
    lastBlock: null,
  };
}
