import { notFollowed } from '../../contract/chain/network-problems.ts';
import {
  MAX_LOGS_SHOWN,
  MAX_RECENT_EVENTS,
  type SourcePreview,
  type SourceRecentEvents,
} from '../../contract/chain/sources.ts';
import { type InputError, invalidRequest, Problem } from '../../contract/problems.ts';
import { NATIVE_TOKEN } from '../../domain/chain/coin.ts';
import { type FoundFact, kindsOf } from '../../domain/chain/facts.ts';
import type { Parsed } from '../../domain/chain/families/family-rules.ts';
import { definitionHash, type SourceDefinition } from '../../domain/chain/source-definition.ts';
import type { FollowedSource } from '../../store/chain/network-store.ts';
import type { PreparedSource } from '../../store/chain/sources/sources.ts';
import type { Dialect } from '../rpc/dialect.ts';
import { RpcFailure } from '../rpc/failures.ts';
import { isCoinSource } from './coin/coin-blocks.ts';
import { logOfTransfer } from './coin/transfers.ts';
import { loadAbiLibrary } from './decode/abi-library.ts';
import { contractCalls, type RpcCall } from './decode/contract-calls.ts';
import { type DecoderOptions, LogDecoder } from './decode/decoder.ts';
import { addressesOf } from './decode/definition/addresses.ts';
import { type Compiled, compileSource, topicsOf } from './decode/definition/compile-source.ts';
import type { TokenStore } from './decode/token-decimals.ts';
import { logExplainer } from './explain-log.ts';
import { InvoiceTools } from './invoice-tools.ts';
import { type RecentLogs, readRecentLogs } from './recent-logs.ts';
import { logsOf, transferOf } from './rpc/calls.ts';
import type { Log, LogFilter } from './rpc/types.ts';
import { readData, readLogs, readQuantity } from './rpc/values.ts';

export type SourceToolsOptions = {
  /** The networks of `CHAIN_RPC`. */
  readonly networkIds: readonly number[];
  readonly call: RpcCall;
  readonly dialectOf?: (networkId: number) => Dialect;
  readonly readTokens: TokenStore['read'];
  /** Absent if the decimals and symbols of tokens are not stored. */
  readonly saveTokens?: TokenStore['save'];
  readonly findEntries?: DecoderOptions['findEntries'];
};

const RETRY_AFTER_S = 5;
/** How many blocks before the head a source of the coin may start. */
const MAX_COIN_HISTORY = 10_000;
/**
 * Limit on the logs that a preview decodes. It is larger than the number of events shown, because conditions on values
 * that are not topics drop some logs.
 */
const MOST_DECODED = 10 * MAX_RECENT_EVENTS;

/** Checks and previews the sources of a network for the API. Each error is a problem whose text says how to fix it. */
export class SourceTools {
  readonly #invoices: InvoiceTools;

  constructor(private readonly options: SourceToolsOptions) {
    const { call, readTokens: read, saveTokens: save = async () => undefined } = options;
    this.#invoices = new InvoiceTools({ call, tokens: { read, save }, responding: this.#responding.bind(this) });
  }

  /** The tools for invoices on a network. */
  invoicesOf(networkId: number): InvoiceTools {
    this.#requireFollowed(networkId);
    return this.#invoices;
  }

  /** Checks a definition against the network, and returns the network's head with it. */
  async prepareSource(definition: SourceDefinition): Promise<PreparedSource> {
    const { networkId, fromBlock } = definition;
    this.#requireFollowed(networkId);
    const { source, definition: written } = await compile(definition);
    const [head, code] = await Promise.all([
      this.#ask(networkId, 'eth_blockNumber', [], readQuantity),
      isCoinSource(source) ? null : this.#ask(networkId, 'eth_getCode', [source.contract, 'latest'], readData),
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
    if (isCoinSource(source) && fromBlock !== 'latest' && fromBlock < head - MAX_COIN_HISTORY) {
      const message = `must be at least ${head - MAX_COIN_HISTORY} with the preset native, because Paybell reads each block whole`;
      errors.push({ in: 'body', name: 'fromBlock', message });
    }
    if (errors.length > 0) throw invalidRequest(errors);
    const { bookPlace } = source;
    return { definition: written, topic: source.event.topic, topics: [null, ...topicsOf(source)], bookPlace, head };
  }

  async parseAddresses(networkId: number, texts: readonly string[]): Promise<readonly Parsed[]> {
    this.#requireFollowed(networkId);
    const { errorIn, toLog } = addressesOf(networkId, await loadAbiLibrary());
    return texts.map((text) => {
      const error = errorIn(text);
      return error === null ? { value: toLog(text) } : { error };
    });
  }

  /** Shows the events that a definition, or the given sources, would make from a transaction. Stores nothing. */
  async preview(
    networkId: number,
    wanted: SourceDefinition | readonly FollowedSource[],
    transactionHash: string,
  ): Promise<SourcePreview> {
    this.#requireFollowed(networkId);
    const compiled = 'length' in wanted ? null : await compile(wanted);
    const definition = compiled?.definition ?? null;
    const sources = 'length' in wanted ? wanted : compiled === null ? [] : [asSource(compiled)];
    const receipt = await this.#readReceipt(networkId, transactionHash);
    const hasCoin = sources.some(isCoinSource);
    const transfer = hasCoin && receipt.isSuccess ? await this.#readTransfer(networkId, transactionHash, receipt) : [];
    const logs = [...receipt.logs, ...transfer];
    const facts = await this.#decode(networkId, logs, sources);
    const isCoin = ({ contract }: FoundFact) => contract === NATIVE_TOKEN;
    const taken = new Set(facts.flatMap((fact) => (isCoin(fact) ? [] : fact.position.logIndex)));
    const others = receipt.logs.filter(({ logIndex }) => !taken.has(logIndex)).slice(0, MAX_LOGS_SHOWN);
    const explain = definition === null ? () => 'No source takes it.' : await logExplainer(definition);
    const addresses = addressesOf(networkId, await loadAbiLibrary());
    return {
      networkId,
      transactionHash,
      blockNumber: receipt.blockNumber,
      isSuccess: receipt.isSuccess,
      logs: receipt.logs.length,
      events: facts.map((fact) => ({ ...eventOf(fact), sourceId: definition === null ? fact.sourceId : null })),
      others: others.map((log) => ({
        logIndex: log.logIndex,
        contract: addresses.show(log.address),
        reason: explain(log),
      })),
    };
  }

  /** The newest events that a definition would have made, in the blocks that a few calls can read. Stores nothing. */
  async previewRecent(wanted: SourceDefinition): Promise<SourceRecentEvents> {
    const { networkId } = wanted;
    this.#requireFollowed(networkId);
    const compiled = await compile(wanted);
    const { source } = compiled;
    if (isCoinSource(source)) {
      const message = 'cannot be native: nodes do not list transfers of the coin, so Paybell cannot look back';
      throw invalidRequest([{ in: 'body', name: 'preset', message }]);
    }
    const head = await this.#ask(networkId, 'eth_blockNumber', [], readQuantity);
    const filter = { addresses: [source.contract], topics: [[source.event.topic], ...topicsOf(source)] };
    const dialect = this.options.dialectOf?.(networkId);
    const recent = await this.#responding(networkId, () =>
      readRecentLogs((range) => this.#readLogs(networkId, range), filter, head, MAX_RECENT_EVENTS, dialect),
    );
    if (recent === null) {
      const detail =
        `The nodes of network ${networkId} refuse to return logs, even of few blocks. The source can be created without a ` +
        'preview, but Paybell may not be able to read it from these nodes.';
      throw new Problem('network_unavailable', detail, { headers: { 'retry-after': String(RETRY_AFTER_S) } });
    }
    const { logs, fromBlock } = newest(recent);
    const facts = await this.#decode(networkId, logs, [asSource(compiled)]);
    const shown = facts.slice(-MAX_RECENT_EVENTS).reverse();
    return { networkId, fromBlock, toBlock: head, found: facts.length, events: shown.map(recentEventOf) };
  }

  #readLogs(networkId: number, filter: LogFilter): Promise<Log[]> {
    const { method, params, read } = logsOf(filter);
    return this.options.call(networkId, method, params).then(read);
  }

  #decode(networkId: number, logs: readonly Log[], sources: readonly FollowedSource[]): Promise<FoundFact[]> {
    const { call, readTokens, findEntries } = this.options;
    // Uses a separate decoder, so that a preview stores nothing about tokens.
    const decoder = new LogDecoder({
      tokens: { read: readTokens, save: async () => undefined },
      callContract: contractCalls(call),
      ...(findEntries !== undefined && { findEntries }),
    });
    return this.#responding(networkId, () => decoder.decode(logs, sources));
  }

  #requireFollowed(networkId: number): void {
    if (!this.options.networkIds.includes(networkId)) throw notFollowed(networkId);
  }

  async #readReceipt(networkId: number, transactionHash: string): Promise<Receipt> {
    const receipt = await this.#ask(networkId, 'eth_getTransactionReceipt', [transactionHash], readReceipt);
    if (receipt !== null) return receipt;
    const transaction = await this.#ask(networkId, 'eth_getTransactionByHash', [transactionHash], (result) => result);
    if (transaction !== null) {
      const detail = `The transaction ${transactionHash} does not have a block on network ${networkId} yet. Try again once it has one.`;
      throw new Problem('transaction_pending', detail, { headers: { 'retry-after': String(RETRY_AFTER_S) } });
    }
    const detail = `No node of network ${networkId} knows the transaction ${transactionHash}. Check the hash and the network.`;
    throw new Problem('transaction_not_found', detail);
  }

  async #readTransfer(networkId: number, transactionHash: string, { blockNumber }: Receipt): Promise<Log[]> {
    const { method, params, read } = transferOf(transactionHash);
    const transfer = await this.#ask(networkId, method, params, read);
    return transfer ? [logOfTransfer(transfer, { blockNumber, blockHash: transactionHash })] : [];
  }

  #ask<Result>(
    networkId: number,
    method: string,
    params: readonly unknown[],
    read: (result: unknown) => Result,
  ): Promise<Result> {
    return this.#responding(networkId, async () => read(await this.options.call(networkId, method, params)));
  }

  /** Passes on no text of a node, because the text may contain the node's URL. */
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

type CompiledDefinition = Extract<Compiled, { isValid: true }>;

async function compile(definition: SourceDefinition): Promise<CompiledDefinition> {
  const compiled = compileSource(definition, await loadAbiLibrary());
  if (compiled.isValid) return compiled;
  throw invalidRequest(compiled.errors.map((error) => ({ in: 'body', ...error })));
}

/** Dust does not lead to events. */
function eventOf({ factId, kind, position: { logIndex }, contract, fields, isDust = false }: FoundFact) {
  return { factId, kind, events: isDust ? [] : [...kindsOf(kind)], isDust, logIndex, contract, fields };
}

function recentEventOf(fact: FoundFact): SourceRecentEvents['events'][number] {
  const { blockNumber, blockS = null } = fact.position;
  return { ...eventOf(fact), transactionHash: fact.transactionHash, blockNumber, dateBlock: blockS };
}

/**
 * Keeps about `MOST_DECODED` of the newest logs, to bound the decoding. Keeps whole blocks, so that `fromBlock` stays
 * correct.
 */
function newest({ logs, fromBlock }: RecentLogs): RecentLogs {
  const cut = logs.at(-MOST_DECODED);
  if (cut === undefined || logs.length === MOST_DECODED) return { logs, fromBlock };
  const first = cut.blockNumber;
  return { logs: logs.filter(({ blockNumber }) => blockNumber >= first), fromBlock: first };
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

/**
 * A source that takes logs of any block. Its id is the hash of the definition, so that different definitions have
 * different ids.
 */
function asSource({ definition, source }: CompiledDefinition): FollowedSource {
  return {
    entityId: '',
    sourceId: definitionHash(definition),
    networkId: definition.networkId,
    contract: source.contract,
    topic: '',
    definition,
    fromBlock: 0,
    createdHead: 0,
    deliverHistory: true,
    nextBlock: null,
    lastBlock: null,
  };
}
