import type { FollowedSource } from '../../store/chain/network-store.ts';
import { RpcFailure } from '../rpc/failures.ts';
import type { Node } from '../rpc/node.ts';
import type { Log } from '../rpc/types.ts';
import { InDoubt } from './blocks/doubt.ts';
import { isRefusal, type Reading, type Refusal, readBlocks } from './blocks/read-blocks.ts';
import type { Poll } from './poll.ts';

/**
 * A contract may have more logs in one block than can be read. Its sources are paused, so that all others go on. A refusal
 * alone proves little: it takes one more node, or the same node in two polls, to pause a source for it.
 */

/** More logs than these in one block, of one contract, are not payments. */
const MAX_BLOCK_LOGS = 10_000;
/** More than these are not, of whatever contracts. */
const MAX_BLOCK_TOTAL = 30_000;
const MAX_REQUESTS = 60;
/** A refusal that is further back than this has been forgotten. */
const SUSPECT_POLLS = 100;
/** Of a log without its data. */
const LOG_BYTES = 600;
/** The first topic of no log. */
const NO_TOPIC = `0x${'f'.repeat(64)}`;

/** Contracts with more logs in one block than are read, with that block. */
export type Flood = ReadonlyMap<string, number>;

export function floodingContracts(logs: readonly Log[]): Flood {
  const flood = new Map<string, number>();
  if (logs.length <= MAX_BLOCK_LOGS) return flood;
  const counts = new Map<string, number>();
  for (const { blockNumber, address } of logs) {
    const key = `${address} ${blockNumber}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count > MAX_BLOCK_LOGS) flood.set(address, blockNumber);
  }
  return flood;
}

/** The logs of this block cannot be read: pauses the sources because of which, or lets the next attempt ask in smaller parts. */
export async function pauseFlood(poll: Poll, node: Node, block: number, sources = poll.sources): Promise<void> {
  const flood = await findFlood(poll, node, block, sources);
  if (flood.size > 0) return pauseContracts(poll, flood);
  const { memory } = poll.follow;
  memory.contractsPerCall = Math.max(1, Math.floor(Math.min(memory.contractsPerCall, sources.length) / 2));
}

export async function pauseContracts(poll: Poll, flood: Flood): Promise<void> {
  const flooded = poll.sources.filter(({ contract }) => flood.has(contract));
  const [block] = flood.values();
  await poll.pause(flooded, `The contract has more logs in block ${block} than can be read.`);
}

type Part = { readonly contracts: readonly string[]; readonly sources: readonly FollowedSource[] };

/** Asks for ever smaller parts of the contracts. None is found where each of them can be read. */
async function findFlood(poll: Poll, node: Node, block: number, sources: readonly FollowedSource[]): Promise<Flood> {
  const flood = new Map<string, number>();
  const sizes = new Sizes();
  let [isTooLarge, isSuspected] = [false, false];
  const queue: Part[] = [partOf([...new Set(sources.map(({ contract }) => contract))], sources)];
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const part = queue.pop();
    if (part === undefined) break;
    const reading = await readBlock(node, block, part.sources);
    isTooLarge ||= reading === 'too_large';
    const [only] = part.contracts;
    if (!isRefusal(reading)) sizes.add(reading.logs);
    else if (part.contracts.length > 1) {
      const middle = Math.ceil(part.contracts.length / 2);
      queue.push(partOf(part.contracts.slice(0, middle), sources), partOf(part.contracts.slice(middle), sources));
    } else if (only !== undefined) {
      if (reading === 'too_large' || (await isProved(poll, node, block, part))) flood.set(only, block);
      else isSuspected = true;
    }
  }
  if (flood.size === 0 && isSuspected) throw new InDoubt();
  const { largest } = sizes;
  // Each can be read and all together cannot: the largest one makes room.
  if (flood.size === 0 && largest !== null && (isTooLarge || sizes.logs > MAX_BLOCK_TOTAL)) flood.set(largest, block);
  return flood;
}

function partOf(contracts: readonly string[], sources: readonly FollowedSource[]): Part {
  const wanted = new Set(contracts);
  return { contracts, sources: sources.filter(({ contract }) => wanted.has(contract)) };
}

function readBlock(node: Node, block: number, sources: readonly FollowedSource[]): Promise<Reading | Refusal> {
  return readBlocks(node, { from: block, to: block, check: block, sources });
}

/** Throws where the refusal of these logs has another reason than that there are so many. */
async function isProved({ follow }: Poll, node: Node, block: number, { contracts, sources }: Part): Promise<boolean> {
  const { nodes, memory } = follow;
  const nothing = sources.map((source) => ({ ...source, topic: NO_TOPIC }));
  if (isRefusal(await readBlock(node, block, nothing))) throw failureOf(node);
  const other = nodes.second(node);
  if (other !== null) {
    const reading = await readBlock(other, block, sources);
    if (!isRefusal(reading) && floodingContracts(reading.logs).size === 0) throw failureOf(node);
    return true;
  }
  const [contract = ''] = contracts;
  const suspected = memory.suspects.get(contract) ?? Number.NEGATIVE_INFINITY;
  if (suspected < memory.polls && memory.polls - suspected < SUSPECT_POLLS) return true;
  memory.suspects.set(contract, memory.polls);
  return false;
}

function failureOf(node: Node): RpcFailure {
  const failure = new RpcFailure('rpc_error');
  node.noteFailure(failure);
  return failure;
}

/** How much of a block each contract has. */
class Sizes {
  logs = 0;
  readonly #bytes = new Map<string, number>();

  add(logs: readonly Log[]): void {
    this.logs += logs.length;
    for (const { address, data } of logs) {
      this.#bytes.set(address, (this.#bytes.get(address) ?? 0) + LOG_BYTES + data.length);
    }
  }

  get largest(): string | null {
    const [largest] = [...this.#bytes].sort(([, a], [, b]) => b - a);
    return largest?.[0] ?? null;
  }
}
