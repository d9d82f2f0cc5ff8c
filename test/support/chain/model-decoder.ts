import type { Decoder, Waits } from '../../../src/chain/evm/decode/decoder.ts';
import type { Log } from '../../../src/chain/evm/rpc/types.ts';
import type { FoundFact } from '../../../src/domain/chain/facts.ts';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import type { FollowedSource } from '../../../src/store/chain/network-store.ts';
import { addressOf, wordOf } from './model-chain.ts';

/** The identity of a fact without a hash function: its transaction, what it says, and how many equal ones came before. */
export function modelFacts(logs: readonly Log[], sources: readonly FollowedSource[], waits?: Waits): FoundFact[] {
  return named(logs).flatMap(({ log, factId }) => factsOf(log, factId, sources, waits));
}

function named(logs: readonly Log[]): { log: Log; factId: string }[] {
  const counts = new Map<string, number>();
  const sorted = [...logs].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  return sorted.map((log) => {
    // Short, because it is made a million times: the end of each tells them apart.
    const said = [log.transactionHash, log.address, ...log.topics, log.data].map((word) => word.slice(-6)).join('_');
    const equal = `${log.blockHash} ${said}`;
    const no = counts.get(equal) ?? 0;
    counts.set(equal, no + 1);
    return { log, factId: `${said}_${no}` };
  });
}

export const modelDecoder: Decoder = {
  decode: async (logs, sources, options) => {
    const facts = modelFacts(logs, sources, options?.waits);
    const bySource = new Map(sources.map((source) => [source.sourceId, source]));
    for (const { sourceId } of facts) {
      const source = bySource.get(sourceId);
      if (source !== undefined) options?.onTaken?.(source);
    }
    return facts;
  },
  identify: (_, logs) => new Map(named(logs).map(({ factId, log }) => [factId, log])),
};

/** For each entity that takes the log, by its oldest source that does not wait. */
function factsOf(
  log: Log,
  factId: string,
  sources: readonly FollowedSource[],
  waits: Waits = () => false,
): FoundFact[] {
  const byEntity = new Map<string, FollowedSource>();
  for (const source of sources) {
    const isOfEvent = source.contract === log.address && source.topic === log.topics[0];
    const isWanted = (source.topics ?? []).every((values, place) => values?.includes(log.topics[place] ?? '') ?? true);
    if (!isOfEvent || !isWanted || source.fromBlock > log.blockNumber) continue;
    const older = byEntity.get(source.entityId);
    const isNext = older !== undefined && waits(older, log.blockNumber) && !waits(source, log.blockNumber);
    if (older === undefined || isNext) byEntity.set(source.entityId, source);
  }
  const { blockNumber, blockHash, logIndex, transactionHash } = log;
  return [...byEntity.values()].map((source) => ({
    entityId: source.entityId,
    factId,
    networkId: source.networkId,
    sourceId: source.sourceId,
    kind: 'Transfer',
    isSilent: blockNumber <= source.createdHead && !source.deliverHistory,
    transactionHash,
    contract: source.contract,
    position: { blockNumber, blockHash, logIndex },
    transferId: null,
    agreementId: null,
    fields: {},
  }));
}

export const TOPIC = wordOf(0x70);

/** The model decodes without one. */
const NO_DEFINITION: SourceDefinition = {
  networkId: 1,
  preset: null,
  contract: addressOf(1),
  abi: null,
  event: null,
  where: {},
  fields: {},
  fromBlock: 1,
  deliverHistory: false,
};

export function modelSource(options: Partial<FollowedSource> = {}): FollowedSource {
  return {
    entityId: 'acme',
    sourceId: 'src_1',
    networkId: 1,
    contract: addressOf(1),
    topic: TOPIC,
    definition: NO_DEFINITION,
    fromBlock: 1,
    createdHead: 0,
    deliverHistory: false,
    nextBlock: null,
    lastBlock: null,
    ...options,
  };
}
