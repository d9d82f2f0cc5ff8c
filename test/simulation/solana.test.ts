import { expect, test } from 'bun:test';
import { simulate } from './command.ts';
import { type Network, nodesOf } from './fleet/network.ts';
import type { Provider } from './fleet/provider.ts';
import { SolanaNetwork } from './fleet/solana/network.ts';
import { generate, withNodeFaults } from './generate.ts';
import { FIRST_CONTRACT } from './model/contracts.ts';
import { INVOICE_ACTIONS } from './operations/invoices.ts';
import { ACTIONS, TABLES } from './operations/table.ts';
import type { Simulation } from './simulation.ts';
import { Random } from './world/random.ts';
import { world } from './world/world.ts';

const { actions, nodeActions } = TABLES.solana;

/** `solana.long.test.ts` has more seeds. */
test('seed 4 breaks no law on Solana', async () => {
  const [run] = await simulate('--network', 'solana', '--seed', '4', '--operations', '25');
  expect(run).toMatchObject({ seed: 4, violations: [], unexpected: [] });
  for (const law of ['L1', 'L2', 'L4', 'L5', 'L6', 'L7', 'L9', 'L12'])
    expect(run?.checked[law] ?? 0).toBeGreaterThan(0);
});

test('Solana has every operation except those of invoices, and each is drawn', () => {
  const names = [...Object.keys(ACTIONS).filter((name) => !(name in INVOICE_ACTIONS)), ...Object.keys(nodeActions)];
  const drawn = Array.from({ length: 200 }, (_, seed) =>
    withNodeFaults(seed, generate(seed, 120, actions), nodeActions),
  ).flat();
  const counts = Map.groupBy(drawn, ({ name }) => name);
  expect([...counts.keys()].toSorted()).toEqual(names.toSorted());
  expect(names.filter((name) => (counts.get(name)?.length ?? 0) < 40)).toEqual([]);
});

/** A payment to the first wallet, which a node shows in its lists and balances. */
function callsAbout(network: Network, signature: string) {
  const [, accounts] = network.source(FIRST_CONTRACT).topics ?? [];
  const account = accounts?.[0];
  const calls = [
    ...['confirmed', 'finalized'].map((commitment) => ({ method: 'getSlot', params: [{ commitment }] })),
    { method: 'getMultipleAccounts', params: [[account], { commitment: 'confirmed' }] },
    { method: 'getSignaturesForAddress', params: [account, { commitment: 'confirmed' }] },
    { method: 'getSignatureStatuses', params: [[signature]] },
    { method: 'getTransaction', params: [signature] },
  ];
  return calls.map((call, id) => ({ ...call, id }));
}

test.each(Object.keys(nodeActions))('%s shows in the answers of a node of Solana, and ends', async (name) => {
  world.begin(1);
  const seed = Array.from({ length: 40 }, (_, index) => index).find((index) => nodesOf(index) === 3) ?? 0;
  const network = new SolanaNetwork(seed);
  const operation = { index: 0, name, atMs: 0, seed: 1 };
  const simulation = { network } as unknown as Simulation;
  expect(nodeActions[name]?.begin(simulation, new Random(1), operation)).toEqual({});
  const faulty = network.providers.find(({ misbehaviour }) => misbehaviour !== null);
  const sound = network.providers.find((provider) => provider !== faulty);
  if (faulty === undefined || sound === undefined) throw new Error('one of three nodes misbehaves');
  const pay = () => network.newPayment(FIRST_CONTRACT).transaction;
  const payments = Array.from({ length: 8 }, pay);
  // Several in one slot: their order differs by node.
  network.append(payments);
  const calls = payments.map(({ hash }) => callsAbout(network, hash));
  const answerOf = async ({ exchange }: Provider, index: number) =>
    JSON.stringify(await world.until(exchange(calls[index]).catch((error: Error) => error.message)));
  const differs = async (index: number) => (await answerOf(faulty, index)) !== (await answerOf(sound, index));
  const indices = [...calls.keys()];
  const shows = async () => {
    for (const index of indices) if (await differs(index)) return true;
    return false;
  };
  expect(await shows()).toBe(true);
  await world.pass(21_000);
  // A slot may pass between the answers of two nodes.
  for (const index of indices) expect((await differs(index)) && (await differs(index))).toBe(false);
});
