import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Outcome } from '../../src/domain/attempt.ts';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { addressOf } from '../support/chain/model-chain.ts';
import { TOPIC } from '../support/chain/model-decoder.ts';
import { rejection } from '../support/rejection.ts';
import { createTarget } from '../support/stores.ts';
import { EvmNetwork } from './fleet/evm/network.ts';
import { type Network, nodesOf } from './fleet/network.ts';
import type { Provider } from './fleet/provider.ts';
import { type ReceiverMode, Receivers } from './fleet/receivers.ts';
import { FIRST_CONTRACT } from './model/contracts.ts';
import { Model } from './model/model.ts';
import { FAULT_ACTIONS } from './operations/faults.ts';
import { NODE_ACTIONS } from './operations/nodes.ts';
import type { Simulation } from './simulation.ts';
import { type DatabaseFault, DatabaseFaults } from './store/faults.ts';
import { InstanceDatabase } from './store/instance-database.ts';
import { Notifications } from './store/notifications.ts';
import { as, type Owner } from './world/owners.ts';
import { Random } from './world/random.ts';
import { world } from './world/world.ts';

/** Each fault does what its name says. A fault without an effect would leave every law unbroken. */

/** Lets virtual time pass until the work has ended, beside the real time that a file needs. */
async function driven<Value>(work: Promise<Value>): Promise<Value | 'unanswered'> {
  let isEnded = false;
  const end = () => {
    isEnded = true;
  };
  work.then(end, end);
  for (let turn = 0; turn < 200 && !isEnded; turn++) {
    await world.pass(500);
    await Bun.sleep(1);
  }
  return isEnded ? work : 'unanswered';
}

describe('the database of an instance', () => {
  let shared: Database;
  let remove = () => {};
  let networkId = 0;

  beforeAll(async () => {
    const created = await createTarget('sqlite');
    shared = await openDatabase(created.target);
    await migrate(shared);
    remove = created.remove;
  });
  afterAll(async () => {
    await shared.close();
    remove();
  });

  function instance() {
    world.begin(1);
    const owner: Owner = { name: 'i1', isAlive: true, frozenUntilMs: 0 };
    const faults = new DatabaseFaults();
    const parts = { shared, engine: 'postgres', dialect: shared.dialect, notifications: new Notifications() } as const;
    return { owner, faults, db: new InstanceDatabase({ ...parts, owner, faults }) };
  }

  const write = (db: Database) => {
    networkId++;
    return db.transaction((queries) => queries.run('insert into chains (network_id) values ($1)', [networkId]));
  };
  const isStored = async () =>
    (await shared.get('select 1 as found from chains where network_id = $1', [networkId])) !== undefined;

  function armed(fault: Pick<DatabaseFault, 'on' | 'effect'>): Database {
    const { db, faults } = instance();
    faults.arm({ ...fault, after: 0, delayMs: 20_000 });
    return db;
  }

  test('stores nothing if a statement or a commit fails', async () => {
    for (const on of ['statement', 'commit'] as const) {
      expect((await rejection(driven(write(armed({ on, effect: 'fails' }))))).message).toContain('failed');
      expect(await isStored()).toBe(false);
    }
  });

  test('stores the transaction of a commit without an answer', async () => {
    const db = armed({ on: 'commit', effect: 'unanswered' });
    expect((await rejection(driven(write(db)))).message).toContain('not answered');
    expect(await isStored()).toBe(true);
  });

  test('answers a slow statement and a slow commit later', async () => {
    for (const on of ['statement', 'commit'] as const) {
      expect(await driven(write(armed({ on, effect: 'slow' })))).toBe(1);
      expect(world.nowMs).toBeGreaterThanOrEqual(20_000);
    }
  });

  test('meets a fault once, after the calls before it', async () => {
    const { db, faults } = instance();
    faults.arm({ on: 'commit', effect: 'fails', after: 1, delayMs: 0 });
    expect(await driven(write(db))).toBe(1);
    await rejection(driven(write(db)));
    expect(await driven(write(db))).toBe(1);
  });

  test('rolls back the transaction of an instance that was killed, and never answers it', async () => {
    const { db, owner } = instance();
    networkId++;
    const work = db.transaction(async (queries) => {
      await queries.run('insert into chains (network_id) values ($1)', [networkId]);
      owner.isAlive = false;
    });
    expect(await driven(work)).toBe('unanswered');
    expect(await isStored()).toBe(false);
  });

  test('waits for an instance that is frozen, and so do its timers', async () => {
    const { db, owner } = instance();
    owner.frozenUntilMs = 30_000;
    expect(await driven(write(db))).toBe(1);
    expect(world.nowMs).toBeGreaterThanOrEqual(30_000);
    owner.frozenUntilMs = world.nowMs + 40_000;
    const untilMs = owner.frozenUntilMs;
    await driven(as(owner, () => world.sleep(1)));
    expect(world.nowMs).toBeGreaterThanOrEqual(untilMs);
  });

  test('has the clock of the world', async () => {
    const { db } = instance();
    const readMs = async () => {
      const row = await driven(db.get<{ now: number }>(`select ${db.dialect.nowMs} as now`));
      return row === undefined || row === 'unanswered' ? 0 : world.wallMs - row.now;
    };
    expect(await readMs()).toBeWithin(0, 5_000);
    world.clockStepMs -= 3_600_000;
    expect(await readMs()).toBeWithin(0, 5_000);
  });
});

describe('a receiver', () => {
  async function sendTo(mode: ReceiverMode): Promise<{ outcome: Outcome | 'unanswered'; received: boolean[] }> {
    world.begin(1);
    const receivers = new Receivers();
    const postUrl = 'https://r0.example.com/hook';
    receivers.setMode(postUrl, mode);
    const outcome = await driven(receivers.send({ entityId: '', postUrl, headers: {}, body: '{"event":"any"}' }));
    return { outcome, received: receivers.receipts.map(({ isAccepted }) => isAccepted) };
  }

  test('responds with the status of its mode, and accepts only with a 2xx', async () => {
    expect(await sendTo('fine')).toMatchObject({ outcome: { statusCode: 200 }, received: [true] });
    expect(await sendTo('slow')).toMatchObject({ outcome: { statusCode: 200 }, received: [true] });
    expect(await sendTo('error')).toMatchObject({ outcome: { statusCode: 500 }, received: [false] });
    expect(await sendTo('gone')).toMatchObject({ outcome: { statusCode: 410 }, received: [false] });
  });

  test('gets nothing if it refuses, and accepts a request whose sender has given up', async () => {
    expect(await sendTo('refused')).toMatchObject({ outcome: { error: 'refused' }, received: [] });
    expect(await sendTo('late')).toMatchObject({ outcome: { error: 'timeout' }, received: [true] });
  });
});

test('a tenth of the notifications gets lost', async () => {
  world.begin(1);
  const notifications = new Notifications();
  const [from, to] = ['i1', 'i2'].map((name): Owner => ({ name, isAlive: true, frozenUntilMs: 0 }));
  if (from === undefined || to === undefined) throw new Error('two owners');
  let arrived = 0;
  notifications.listen(to, () => {
    arrived++;
  });
  for (let sent = 0; sent < 1_000; sent++) notifications.send(from, 'deliveries');
  await world.pass(1_000);
  expect(arrived).toBeWithin(850, 950);
});

test('a fault of the clock sets it by up to an hour, and a fault of the network disturbs a node for some seconds', async () => {
  world.begin(1);
  const [model, network] = [new Model(), new EvmNetwork(1)];
  const simulation = { model, network } as unknown as Simulation;
  const operation = { index: 0, name: '', atMs: 0, seed: 1 };
  FAULT_ACTIONS.clock?.begin(simulation, new Random(1), operation);
  expect(Math.abs(world.clockStepMs)).toBeWithin(1, 3_600_000);
  FAULT_ACTIONS.node?.begin(simulation, new Random(1), operation);
  const areDisturbed = () =>
    network.nodes.some(
      ({ faults: { lag = 0, rateLimited = 0, unreachable = 0 } }) => lag + rateLimited + unreachable > 0,
    );
  expect(areDisturbed()).toBe(true);
  await world.pass(6_000);
  expect(areDisturbed()).toBe(false);
});

const seedWith = (nodes: number) =>
  Array.from({ length: 40 }, (_, seed) => seed).find((seed) => nodesOf(seed) === nodes) ?? 0;

/** Begins a fault of a node. Returns whether it was carried out. */
function misbehave(network: Network, name: string, draw = new Random(1)): boolean {
  const operation = { index: 0, name, atMs: 0, seed: 1 };
  return NODE_ACTIONS[name]?.begin({ network } as unknown as Simulation, draw, operation) !== null;
}

describe('a fault of a node', () => {
  const logs = { fromBlock: '0x0', toBlock: '0xff', address: [addressOf(FIRST_CONTRACT)], topics: [[TOPIC]] };
  const calls = [
    ...['latest', 'safe', 'finalized'].map((tag) => ({ method: 'eth_getBlockByNumber', params: [tag, false] })),
    { method: 'eth_getLogs', params: [logs] },
  ].map((call, id) => ({ ...call, id }));

  const answerOf = async ({ exchange }: Provider) => {
    const answer = exchange(calls).catch((error: Error) => error.message);
    return JSON.stringify(await world.until(answer));
  };

  /** Whether one of 30 answers is not what another node says. */
  async function differs(network: Network, one: Provider, other: Provider): Promise<boolean> {
    for (let block = 0; block < 6; block++) network.append([network.newPayment(FIRST_CONTRACT).transaction]);
    for (let probe = 0; probe < 30; probe++) if ((await answerOf(one)) !== (await answerOf(other))) return true;
    return false;
  }

  test.each(Object.keys(NODE_ACTIONS))('%s shows in its answers, and ends', async (name) => {
    world.begin(1);
    const network = new EvmNetwork(seedWith(3));
    expect(misbehave(network, name)).toBe(true);
    const faulty = network.providers.find(({ misbehaviour }) => misbehaviour !== null);
    const sound = network.providers.find((provider) => provider !== faulty);
    if (faulty === undefined || sound === undefined) throw new Error('one of three nodes misbehaves');
    expect(await differs(network, faulty, sound)).toBe(true);
    await world.pass(21_000);
    expect(await differs(network, faulty, sound)).toBe(false);
  });

  test.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [5, 2],
  ])('of %d nodes meets %d at a time', (nodes, most) => {
    world.begin(1);
    const network = new EvmNetwork(seedWith(nodes));
    const draw = new Random(1);
    const begun = Array.from({ length: 10 }, () => misbehave(network, 'node-freezes', draw)).filter((one) => one);
    expect(begun).toHaveLength(most);
    network.heal();
    expect(misbehave(network, 'node-invents', draw)).toBe(nodes > 1);
  });
});
