import type { FollowedSource } from '../../../store/chain/network-store.ts';
import { InDoubt } from '../../follow/doubt.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import type { Log } from '../rpc/types.ts';
import { type Demand, DemandIndex, demandsOf } from './blocks/demands.ts';
import { isRefusal, type Reading, type Refusal, readBlocks } from './blocks/read-blocks.ts';
import type { EvmPoll } from './evm-poll.ts';

/**
 * Pauses a source that asks for more logs in one block than can be read, so that other sources continue. The source is
 * tried again later. A log counts only for the sources that take it: a source with few payments is never paused because
 * another source, or the contract, has many logs. One refusal proves little, so Paybell pauses a source only if a
 * second node refuses too, or the same node in two polls.
 */

/** No source of real payments takes more logs than this in one block. */
const MAX_BLOCK_LOGS = 10_000;
/** The most logs of one block that are read for all sources together. */
const MAX_BLOCK_TOTAL = 30_000;
const MAX_REQUESTS = 60;
/** Polls after which a refusal no longer counts. */
const SUSPECT_POLLS = 100;
/** The size of a log without its data. */
const LOG_BYTES = 600;
/** A first topic that no log has. */
const NO_TOPIC = `0x${'f'.repeat(64)}`;

/** Sources that take more logs in one block than Paybell reads, with the number of the block. */
export type Flood = ReadonlyMap<FollowedSource, number>;

export function findFlood(logs: readonly Log[], sources: readonly FollowedSource[]): Flood {
  const flood = new Map<FollowedSource, number>();
  if (logs.length <= MAX_BLOCK_LOGS) return flood;
  const index = new DemandIndex(demandsOf(sources));
  const counts = new Map<Demand, Map<number, number>>();
  for (const log of logs) {
    for (const demand of index.of(log)) {
      const blocks = counts.get(demand) ?? new Map<number, number>();
      counts.set(demand, blocks);
      const count = (blocks.get(log.blockNumber) ?? 0) + 1;
      blocks.set(log.blockNumber, count);
      if (count > MAX_BLOCK_LOGS) for (const source of demand.sources) flood.set(source, log.blockNumber);
    }
  }
  return flood;
}

/**
 * Call this if the logs of a block cannot be read. Pauses the sources that are the cause, or makes the next attempt ask
 * in smaller parts.
 */
export async function pauseRefused(poll: EvmPoll, node: Node, block: number, sources = poll.sources): Promise<void> {
  const flood = await searchFlood(poll, node, block, sources);
  if (flood.size > 0) return pauseFlood(poll, flood);
  const { memory } = poll.follow;
  memory.contractsPerCall = Math.max(1, Math.floor(Math.min(memory.contractsPerCall, sources.length) / 2));
}

export async function pauseFlood(poll: EvmPoll, flood: Flood): Promise<void> {
  const [block] = flood.values();
  await poll.pause(
    [...flood.keys()],
    `In block ${block}, the source matches more logs than Paybell can read. Narrow its conditions, then resume it.`,
  );
}

/**
 * Halves the sources until each request can be read, to find those that flood. If each source can be read alone but not
 * all together, returns the largest.
 */
async function searchFlood(
  poll: EvmPoll,
  node: Node,
  block: number,
  sources: readonly FollowedSource[],
): Promise<Flood> {
  const flood: Demand[] = [];
  const sizes = new Sizes();
  let [isTooLarge, isSuspected] = [false, false];
  const queue: (readonly Demand[])[] = [demandsOf(sources)];
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const part = queue.pop();
    if (part === undefined) break;
    const reading = await readBlock(node, block, sourcesOf(part));
    isTooLarge ||= reading === 'too_large';
    const [only] = part;
    if (!isRefusal(reading)) sizes.add(part, reading.logs);
    else if (part.length > 1) {
      const middle = Math.ceil(part.length / 2);
      // Reads the part that has the sources without conditions first.
      queue.push(part.slice(middle), part.slice(0, middle));
    } else if (only !== undefined) {
      if (reading === 'too_large' || (await isProved(poll, node, block, only))) flood.push(only);
      else isSuspected = true;
    }
  }
  if (flood.length === 0 && isSuspected) throw new InDoubt();
  const { largest } = sizes;
  // Each demand can be read alone, but not all together. Pausing the largest one makes room for the others.
  const isTogether = flood.length === 0 && (isTooLarge || sizes.logs > MAX_BLOCK_TOTAL);
  if (isTogether && largest !== null) flood.push(largest);
  return new Map(sourcesOf(flood).map((source) => [source, block]));
}

function sourcesOf(demands: readonly Demand[]): FollowedSource[] {
  return demands.flatMap(({ sources }) => sources);
}

function readBlock(node: Node, block: number, sources: readonly FollowedSource[]): Promise<Reading | Refusal> {
  return readBlocks(node, { from: block, to: block, check: block, sources });
}

/**
 * Whether a second refusal confirms that these sources flood. Throws if the node refuses for another reason than the
 * number of logs.
 */
async function isProved({ follow }: EvmPoll, node: Node, block: number, { sources }: Demand): Promise<boolean> {
  const { nodes, memory } = follow;
  const nothing = sources.map(({ earlier: _, ...source }) => ({ ...source, topic: NO_TOPIC }));
  if (isRefusal(await readBlock(node, block, nothing))) throw failureOf(node);
  const other = nodes.second(node);
  if (other !== null) {
    const reading = await readBlock(other, block, sources);
    if (!isRefusal(reading) && findFlood(reading.logs, sources).size === 0) throw failureOf(node);
    return true;
  }
  const [key = ''] = sources.map(({ sourceId }) => sourceId);
  const suspected = memory.suspects.get(key) ?? Number.NEGATIVE_INFINITY;
  if (suspected < memory.polls && memory.polls - suspected < SUSPECT_POLLS) return true;
  memory.suspects.set(key, memory.polls);
  return false;
}

function failureOf(node: Node): RpcFailure {
  const failure = new RpcFailure('rpc_error');
  node.noteFailure(failure);
  return failure;
}

/** Counts the bytes of a block that each demand takes. */
class Sizes {
  logs = 0;
  readonly #bytes = new Map<Demand, number>();

  add(demands: readonly Demand[], logs: readonly Log[]): void {
    this.logs += logs.length;
    const index = new DemandIndex(demands);
    for (const log of logs) {
      for (const demand of index.of(log)) {
        this.#bytes.set(demand, (this.#bytes.get(demand) ?? 0) + LOG_BYTES + log.data.length);
      }
    }
  }

  get largest(): Demand | null {
    const [largest] = [...this.#bytes].sort(([, a], [, b]) => b - a);
    return largest?.[0] ?? null;
  }
}
