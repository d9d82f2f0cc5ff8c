import { describe, expect, test } from 'bun:test';
import type { DestinationKey } from '../../../src/domain/post-url.ts';
import { suiteRuns } from '../../support/suite.ts';
import { hangs, type Receiver, respondsIn, Simulation } from './simulation.ts';

const SLOTS = { slots: 8_192, cap: 16 };
const END_MS = 45_000;

/** How the neighbours' deliveries come: accepted in this process, or found in the store. */
const PATHS = ['accepted here', 'claimed from the store'] as const;
type Path = (typeof PATHS)[number];

const destinationOf = (entity: string | number, host: string | number) =>
  `ent_${entity} https://${host}.example:443` as DestinationKey;

/** Three entities that have nothing to do with the crowd. The first has sent for two seconds when it begins. */
function addNeighbours(simulation: Simulation, path: Path, crowdAtMs = 2_000): void {
  const send = (destination: DestinationKey, group: string) =>
    path === 'accepted here' ? simulation.accept(destination, group) : simulation.due(destination, group, 1);
  const proven = destinationOf('a', 'proven');
  simulation.receiver(proven, respondsIn(5));
  every(simulation, 20, 0, (_, atMs) => send(proven, atMs < crowdAtMs ? 'warm-up' : 'proven'));
  const unseen = destinationOf('b', 'unseen');
  simulation.receiver(unseen, respondsIn(5));
  every(simulation, 50, crowdAtMs + 3_000, () => send(unseen, 'never seen'));
  every(simulation, 100, crowdAtMs, (index) => {
    const destination = destinationOf('c', index);
    simulation.receiver(destination, respondsIn(20));
    send(destination, 'one-off');
  });
}

function every(simulation: Simulation, eachMs: number, fromMs: number, run: (index: number, atMs: number) => void) {
  for (let index = 0; fromMs + index * eachMs < END_MS; index++) {
    const atMs = fromMs + index * eachMs;
    simulation.at(atMs, () => run(index, atMs));
  }
}

/** Destinations that hang, each with a backlog of a hundred, and 200 more deliveries a second for all of them. */
function addCrowd(simulation: Simulation, hanging: number, entities: number, atMs = 2_000): void {
  const crowd = Array.from({ length: hanging }, (_, index) => destinationOf(`crowd${index % entities}`, `h${index}`));
  simulation.at(atMs, () => {
    for (const destination of crowd) simulation.due(destination, 'crowd', 100);
  });
  if (hanging === 0) return;
  // A prime, so that neighbours in time are not neighbours in the list.
  every(simulation, 5, atMs, (index) =>
    simulation.accept(crowd[(index * 7_919) % hanging] ?? destinationOf('x', 'x'), 'crowd'),
  );
}

const GROUPS = ['proven', 'never seen', 'one-off'] as const;

function p99Of(simulation: Simulation): number[] {
  simulation.queue.checkSums();
  return GROUPS.map((group) => simulation.percentile(group, 0.99));
}

describe.each(PATHS)('beside hanging destinations, deliveries %s', (path) => {
  const quiet = new Simulation(SLOTS);
  addNeighbours(quiet, path);
  quiet.run(END_MS);
  const quietMs = Math.max(...p99Of(quiet));

  const crowds = [
    [50, 1],
    [1_000, 100],
    [5_000, 5_000],
    [200, 1],
    [1_000, 1],
    [5_000, 1],
    [5_000, 100],
  ];
  test.each(crowds.slice(0, suiteRuns(1, 7)))(
    'are as fast as alone: %d destinations of %d entities',
    (hanging = 0, entities = 0) => {
      const simulation = new Simulation(SLOTS);
      addNeighbours(simulation, path);
      addCrowd(simulation, hanging, entities);
      simulation.run(END_MS);
      // Five thousand destinations that join at once need many plans, and five thousand entities as many turns.
      const limitMs = hanging < 5_000 ? quietMs * 1.5 : entities < 5_000 ? 15 : 75;
      for (const p99Ms of p99Of(simulation)) expect(p99Ms).toBeLessThan(limitMs);
      for (const group of GROUPS) {
        expect(simulation.waitedMs.get(group)).toHaveLength(quiet.waitedMs.get(group)?.length ?? 0);
      }
      // The crowd is served too: every one of its destinations that there are slots for is tried.
      expect(simulation.waitedMs.get('crowd')?.length).toBeGreaterThan(hanging);
    },
  );

  const provenCrowds = [
    [500, 1],
    [5_000, 100],
    [5_000, 1],
    [5_000, 5_000],
  ];
  test.each(provenCrowds.slice(0, suiteRuns(1, 4)))(
    'are as fast as alone when %d proven destinations of %d entities begin to hang',
    (destinations = 0, entities = 0) => {
      const simulation = new Simulation(SLOTS);
      const hangsAtMs = 5_000;
      addNeighbours(simulation, path, hangsAtMs);
      const worked: Receiver = (nowMs) => (nowMs < hangsAtMs ? respondsIn(20)(nowMs) : hangs(nowMs));
      const crowd = Array.from({ length: destinations }, (_, index) =>
        destinationOf(`crowd${index % entities}`, index),
      );
      for (const destination of crowd) simulation.receiver(destination, worked);
      every(simulation, 0.5, 0, (index) => {
        simulation.accept(crowd[(index * 7_919) % destinations] ?? destinationOf('x', 'x'), 'crowd');
      });
      simulation.run(END_MS);
      for (const p99Ms of p99Of(simulation)) expect(p99Ms).toBeLessThan(15);
    },
  );

  test('wait for tens of milliseconds where an honest backlog takes all of the processor', () => {
    const simulation = new Simulation(SLOTS);
    addNeighbours(simulation, path);
    for (let index = 0; index < 1_000; index++) {
      const destination = destinationOf('busy', index);
      simulation.receiver(destination, respondsIn(200));
      simulation.at(2_000, () => simulation.due(destination, 'busy', 300));
    }
    simulation.run(END_MS);
    for (const p99Ms of p99Of(simulation)) expect(p99Ms).toBeLessThan(100);
  });
});

describe('an entity with a thousand destinations that were never seen, each with a hundred deliveries', () => {
  // Without slow start and shares, and with the same processor: 12.0, 12.3 and 32.3 seconds.
  const responses = [
    [200, 12.9],
    [20, 12.6],
    [2_000, 42],
  ];
  test.each(responses.slice(0, suiteRuns(1, 3)))(
    'loses little where a response takes %d ms',
    (responseMs = 0, mostS = 0) => {
      const simulation = new Simulation(SLOTS);
      for (let index = 0; index < 1_000; index++) {
        const destination = destinationOf('honest', index);
        simulation.receiver(destination, respondsIn(responseMs));
        simulation.at(0, () => simulation.due(destination, 'honest', 100));
      }
      simulation.run(60_000);
      expect(simulation.waitedMs.get('honest')).toHaveLength(100_000);
      expect((simulation.lastEndMs.get('honest') ?? Number.NaN) / 1_000).toBeLessThan(mostS);
      expect(simulation.queue.freeSlots).toBe(SLOTS.slots);
      simulation.queue.checkSums();
    },
  );
});

describe('with few slots', () => {
  test.each([1, 2, 5, 16])('%d of them, every destination that responds gets all of its deliveries', (slots) => {
    const simulation = new Simulation({ slots, cap: 4 });
    for (let index = 0; index < 20; index++) {
      const destination = destinationOf(index % 3, index);
      simulation.receiver(destination, index % 5 === 0 ? hangs : respondsIn(10));
      simulation.at(index, () => simulation.due(destination, index % 5 === 0 ? 'hanging' : 'healthy', 10));
    }
    simulation.run(3_600_000);
    simulation.queue.checkSums();
    expect(simulation.waitedMs.get('healthy')).toHaveLength(160);
    expect(simulation.waitedMs.get('hanging')?.length).toBeGreaterThan(20);
  });
});
