import { Ledger, type ReceivedEvent } from '../../../demo/chain/ledger.ts';
import { contractCalls } from '../../../src/chain/evm/decode/contract-calls.ts';
import { LogDecoder } from '../../../src/chain/evm/decode/decoder.ts';
import type { Family } from '../../../src/chain/family.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import { httpExchange } from '../../../src/chain/rpc/http-exchange.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import type { Clock } from '../../../src/chain/rpc/rate-limit.ts';
import type { Preset } from '../../../src/domain/chain/source-definition.ts';
import type { StatedToken } from '../../../src/domain/chain/tokens.ts';
import { acceptFactEvents } from '../../../src/store/chain/fact-events.ts';
import type { FollowedSource } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { claim } from '../deliveries.ts';
import { attemptThat, record } from '../order.ts';
import { seededRandom } from '../random.ts';
import { runTasks } from '../tasks.ts';
import { newEntity, register } from '../webhooks.ts';
import { EdrChain } from './edr-chain.ts';
import type { JsonRpc } from './json-rpc.ts';
import { type Behaviour, RpcProxy } from './rpc-proxy.ts';

/** Payments on a real EVM that forks, read by a follower and delivered to a receiver with a ledger. */

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
export const MAX_DEPTH = 9;

export type TruthNetwork = {
  readonly networkId: number;
  readonly family: Family;
  readonly preset: Preset;
  /** The address as a source names it. */
  readonly address: (hex: string) => string;
  /** The node's calls over the calls of the EVM. */
  readonly dialect: (rpc: JsonRpc) => JsonRpc;
  /** The number of blocks after which one is final. */
  readonly finalDepth: number;
  /** The faults of the node. */
  readonly behaviour?: Partial<Behaviour>;
};

export type Truth = {
  readonly paid: number;
  readonly canonical: number;
  readonly retracted: number;
  readonly moved: number;
  readonly errors: readonly string[];
};

export async function compareWithTruth(
  db: Database,
  network: TruthNetwork,
  { payments, forks, seed = 2 }: { payments: number; forks: number; seed?: number },
): Promise<Truth> {
  const { networkId, finalDepth, dialect } = network;
  const random = seededRandom(seed);
  const chain = await EdrChain.start({ chainId: networkId, accounts: payments + 2 });
  const token = await chain.deploy('Token', 'uint8', [6]);
  await chain.mine(2 * MAX_DEPTH);
  const rpc = dialect(chain.rpc);
  await using node = new RpcProxy(rpc, { safe: 8, finalized: finalDepth, ...network.behaviour });
  const payee = chain.account(1);
  const entityId = await newEntity(db);
  for (const event of ['TransferProcessed', 'TransferFinalized']) {
    await register(db, entityId, 'https://hooks.example.com/paybell', [{ networkId, event }]);
  }
  const { number: createdHead } = await chain.head();
  const source = sourceOf(network, entityId, token.address, payee, createdHead);
  const follower = newFollower(db, network, node.url, source);
  const ledger = new Ledger();
  const look = async () => {
    await follower.poll();
    await deliver(db, networkId, entityId, ledger);
  };
  const dropped: string[] = [];
  let paid = 0;
  await look();
  // No fork reaches below the block from which on the source reads.
  await chain.mine(MAX_DEPTH);
  for (let fork = 0; fork < forks; fork++) {
    for (const hash of dropped.splice(0, random.below(4))) await chain.sendAgain(hash);
    for (let each = 0; each < payments / forks; each++) {
      const mint = token.call('mint(address,uint256)', [payee, 1_000 + paid]);
      await chain.send(chain.account(2 + paid++), mint);
      if (random.below(3) > 0) continue;
      await chain.mine();
      if (random.below(2) === 0) await look();
    }
    await chain.mine();
    if (random.below(3) > 0) await look();
    const depth = 1 + random.below(MAX_DEPTH);
    await chain.fork(depth, {
      place: ({ hash }) => {
        if (random.below(3) > 0) return random.below(depth + 1);
        dropped.push(hash);
        return null;
      },
    });
    if (random.below(3) > 0) await look();
  }
  for (let block = 0; block < finalDepth + 9; block++) {
    await chain.mine();
    await look();
  }
  const canonical = await paymentsIn(rpc, token.address);
  return {
    paid,
    canonical: canonical.size,
    retracted: ledger.all('EventRetracted').length,
    moved: ledger.moved,
    errors: ledger.errors(canonical),
  };
}

function sourceOf(
  { networkId, preset, address }: TruthNetwork,
  entityId: string,
  contract: string,
  payee: string,
  createdHead: number,
): FollowedSource {
  return {
    entityId,
    sourceId: 'src_payments',
    networkId,
    contract,
    topic: TRANSFER,
    definition: {
      ...{ networkId, preset, contract: address(contract), abi: null, event: null },
      where: { to: [address(payee)] },
      fields: {},
      fromBlock: 'latest',
      deliverHistory: false,
    },
    fromBlock: createdHead + 1,
    createdHead,
    deliverHistory: false,
    nextBlock: null,
    lastBlock: null,
  };
}

/** A time in which every poll is seconds after the last one, however fast this machine is. */
function passingClock(): Clock {
  let ms = 0;
  return { nowMs: () => (ms += 1_000), sleep: () => Promise.resolve() };
}

function newFollower(db: Database, { networkId, family }: TruthNetwork, url: string, source: FollowedSource): Follower {
  const clock = passingClock();
  const nodes = new Nodes([
    new Node({
      name: 'edr',
      identity: family.identity(networkId),
      dialect: family.dialect,
      exchange: httpExchange({ url }),
      callsPerSecond: 1_000_000,
      clock,
    }),
  ]);
  const tokens = { read: () => Promise.resolve(new Map<string, StatedToken>()), save: () => Promise.resolve() };
  const callContract = contractCalls((_, method, params) => nodes.ask({ method, params, read: (result) => result }));
  return new Follower({
    store: new NetworkStore(db, 'one', () => Promise.resolve([source])),
    nodes,
    reader: family.newReader({ decoder: new LogDecoder({ tokens, callContract }) }),
    networkId,
    finalityDepth: null,
    graceBlocks: 3,
    leastDepth: 1,
    quorum: null,
    clock,
  });
}

/** Accepts the events of facts, and delivers what is due until nothing is. */
async function deliver(db: Database, networkId: number, entityId: string, ledger: Ledger): Promise<void> {
  const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
  const options = { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined };
  for (let round = 0; round < 100; round++) {
    const accepted = await acceptFactEvents(db, networkId, options);
    await runTasks(db);
    const claimed = await claim(db, entityId);
    for (const delivery of claimed) ledger.add(entryOf(delivery.body ?? '{}'));
    await record(db, ...claimed.map((delivery) => attemptThat('delivered', delivery)));
    if (accepted === 0 && claimed.length === 0) return;
  }
  throw new Error('There was no end of deliveries');
}

function entryOf(text: string): ReceivedEvent {
  const body = JSON.parse(text);
  return {
    eventId: body.eventId,
    event: body.event,
    transactionHash: body.transactionHash,
    revision: body.revision,
    blockNumber: body.blockNumber ?? null,
    blockHash: body.blockHash ?? null,
    amountBase: body.amountBase ?? null,
    retracts: body.retracts?.eventId ?? null,
  };
}

async function paymentsIn(rpc: JsonRpc, contract: string) {
  const range = { fromBlock: '0x0', toBlock: 'latest', address: contract, topics: [TRANSFER] };
  const logs = (await rpc('eth_getLogs', [range])) as Record<
    'transactionHash' | 'blockNumber' | 'blockHash' | 'data',
    string
  >[];
  return new Map(
    logs.map(({ transactionHash, blockNumber, blockHash, data }) => [
      transactionHash,
      { blockNumber: Number(blockNumber), blockHash, amountBase: String(BigInt(data)) },
    ]),
  );
}
