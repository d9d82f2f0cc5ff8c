import { expect, test } from 'bun:test';
import { Ledger, type ReceivedEvent } from '../../../demo/chain/ledger.ts';
import { contractCalls } from '../../../src/chain/decode/contract-calls.ts';
import { LogDecoder } from '../../../src/chain/decode/decoder.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import { httpExchange } from '../../../src/chain/rpc/http-exchange.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import type { Clock } from '../../../src/chain/rpc/rate-limit.ts';
import type { StatedToken } from '../../../src/domain/chain/tokens.ts';
import { acceptFactEvents } from '../../../src/store/chain/fact-events.ts';
import type { FollowedSource } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { EdrChain } from '../../support/chain/edr-chain.ts';
import { RpcProxy } from '../../support/chain/rpc-proxy.ts';
import { claim } from '../../support/deliveries.ts';
import { attemptThat, record } from '../../support/order.ts';
import { seededRandom } from '../../support/random.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { newEntity, register } from '../../support/webhooks.ts';

const NETWORK_ID = 8453;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const MAX_DEPTH = 9;

onSuiteEngine('what is told of a real EVM', (store) => {
  const payments = Number(process.env.CHAIN_PAYMENTS ?? 200);
  const forks = payments / 10;

  test(`is what is in its chain after ${payments} payments and ${forks} forks of up to 9 blocks: 0 wrong`, async () => {
    const random = seededRandom(2);
    const chain = await EdrChain.start({ chainId: NETWORK_ID, accounts: payments + 2 });
    const token = await chain.deploy('Token', 'uint8', [6]);
    await chain.mine(2 * MAX_DEPTH);
    await using node = new RpcProxy(chain.rpc, { safe: 8, finalized: 16 });
    const payee = chain.account(1);
    const entityId = await newEntity(store.db);
    for (const event of ['TransferProcessed', 'TransferFinalized']) {
      await register(store.db, entityId, 'https://hooks.example.com/paybell', [{ networkId: NETWORK_ID, event }]);
    }
    const { number: createdHead } = await chain.head();
    const follower = newFollower(store.db, node.url, sourceOf(entityId, token.address, payee, createdHead));
    const ledger = new Ledger();
    const look = async () => {
      await follower.poll();
      await deliver(store.db, entityId, ledger);
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
    for (let block = 0; block < 25; block++) {
      await chain.mine();
      await look();
    }

    const canonical = await paymentsIn(chain, token.address);
    expect(paid).toBe(payments);
    expect(canonical.size).toBeGreaterThan(payments / 2);
    expect(ledger.all('EventRetracted').length).toBeGreaterThan(forks / 2);
    expect(ledger.moved).toBeGreaterThan(forks / 2);
    expect(ledger.errors(canonical)).toEqual([]);
  });
});

function sourceOf(entityId: string, contract: string, payee: string, createdHead: number): FollowedSource {
  return {
    entityId,
    sourceId: 'src_payments',
    networkId: NETWORK_ID,
    contract,
    topic: TRANSFER,
    definition: {
      networkId: NETWORK_ID,
      preset: 'erc20',
      contract,
      abi: null,
      event: null,
      where: { to: [payee] },
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

function newFollower(db: Database, url: string, source: FollowedSource): Follower {
  const nodes = new Nodes([
    new Node({ name: 'edr', chainId: NETWORK_ID, exchange: httpExchange({ url }), callsPerSecond: 1_000_000 }),
  ]);
  const tokens = { read: () => Promise.resolve(new Map<string, StatedToken>()), save: () => Promise.resolve() };
  const callContract = contractCalls((_, method, params) => nodes.ask({ method, params, read: (result) => result }));
  return new Follower({
    store: new NetworkStore(db, 'one', () => Promise.resolve([source])),
    nodes,
    decoder: new LogDecoder({ tokens, callContract }),
    networkId: NETWORK_ID,
    finalityDepth: null,
    graceBlocks: 3,
    leastDepth: 1,
    quorum: null,
    clock: passingClock(),
  });
}

/** Accepts the events of facts, and delivers what is due until nothing is. */
async function deliver(db: Database, entityId: string, ledger: Ledger): Promise<void> {
  const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
  const options = { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined };
  for (let round = 0; round < 100; round++) {
    const accepted = await acceptFactEvents(db, NETWORK_ID, options);
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

async function paymentsIn(chain: EdrChain, contract: string) {
  const range = { fromBlock: '0x0', toBlock: 'latest', address: contract, topics: [TRANSFER] };
  const logs = (await chain.rpc('eth_getLogs', [range])) as Record<
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
