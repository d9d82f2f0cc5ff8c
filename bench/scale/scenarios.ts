import type { DestinationKey } from '../../src/domain/post-url.ts';
import { type Random, seededRandom } from '../../test/support/random.ts';
import { Fleet, type Respond } from './fleet.ts';

export type Size = {
  readonly instances: number;
  readonly shards: number;
  readonly destinations: number;
  /** Deliveries of all instances together. */
  readonly perSecond: number;
  /** DESTINATION_CONCURRENCY. */
  readonly cap: number;
  readonly seed: number;
};

/** Receivers of the fleet respond within this. */
const RESPONSE_MS = { least: 10, most: 200 };
const ENTITY_DESTINATIONS = 10;
const SLOTS = 8_192;
const HANGING_SHARE = 20;
const SEND_AGAIN_MS = 5_000;
/** When something begins to be wrong, and when it ends. */
const FAULT_MS = { from: 20_000, to: 50_000 };
const SENDING_MS = 70_000;
/** Leases of 30 s run out, and what was due is delivered. */
const SETTLED_MS = 130_000;

type Scenario = {
  readonly name: string;
  readonly hangs?: (destination: number) => boolean;
  readonly begin?: (fleet: Fleet) => void;
  readonly end?: (fleet: Fleet) => void;
  /** The destinations that the fault is about, the others being "elsewhere". */
  readonly isAffected?: (destination: number, size: Size) => boolean;
};

const entityOf = (destination: number) => Math.floor(destination / ENTITY_DESTINATIONS);

const SCENARIOS: readonly Scenario[] = [
  { name: 'nothing is wrong' },
  {
    name: '1 of 20 destinations hangs',
    hangs: (destination) => destination % HANGING_SHARE === 7,
    isAffected: (destination) => destination % HANGING_SHARE === 7,
  },
  {
    name: 'a shard is down for 30 s',
    begin: ({ shards: [first] }) => setUp(first, false),
    end: ({ shards: [first] }) => setUp(first, true),
    isAffected: (destination, { shards }) => entityOf(destination) % shards === 0,
  },
  {
    name: '1 of 10 instances is killed',
    begin: (fleet) => {
      for (const [index, instance] of fleet.instances.entries()) if (index % 10 === 0) instance.kill();
    },
    // As late as heartbeats tell that they are gone.
    end: (fleet) => fleet.shareCap(),
  },
];

function setUp(shard: { isUp: boolean } | undefined, isUp: boolean): void {
  if (shard !== undefined) shard.isUp = isUp;
}

export type Run = {
  readonly name: string;
  readonly accepted: number;
  readonly refused: number;
  /** Accepted, neither delivered nor at a destination that hangs. */
  readonly lost: number;
  readonly twice: number;
  readonly elsewhere: Waits;
  readonly affected: Waits | null;
  readonly mostInFlight: number;
};

export type Waits = { readonly p50Ms: number; readonly p99Ms: number; readonly mostMs: number };

export function simulate(size: Size, onStart: (name: string) => void = () => undefined): Run[] {
  return SCENARIOS.map((scenario) => {
    onStart(scenario.name);
    return simulateOne(size, scenario);
  });
}

function simulateOne(size: Size, scenario: Scenario): Run {
  const { hangs = () => false, isAffected = () => false } = scenario;
  const random = seededRandom(size.seed);
  const respond: Respond = (destination) => {
    if (hangs(numberOf(destination))) return null;
    return RESPONSE_MS.least + random.below(RESPONSE_MS.most - RESPONSE_MS.least);
  };
  const shardOf = (destination: DestinationKey) => entityOf(numberOf(destination)) % size.shards;
  const fleet = new Fleet({ ...size, slots: SLOTS, destinationCap: size.cap, shardOf, respond });
  let toHanging = 0;
  send(fleet, size, random, (destination) => {
    if (hangs(destination)) toHanging++;
    return isAffected(destination, size) ? 'affected' : 'elsewhere';
  });
  fleet.at(FAULT_MS.from, () => scenario.begin?.(fleet));
  fleet.at(FAULT_MS.to, () => scenario.end?.(fleet));
  fleet.run(SETTLED_MS);
  for (const { queue, isUp } of fleet.instances) if (isUp) queue.checkSums();
  const { accepted, refused, recorded, twice } = fleet.counts;
  const affected = fleet.waitedMs.get('affected');
  return {
    ...{ name: scenario.name, accepted, refused, twice },
    lost: accepted - recorded - toHanging,
    elsewhere: waitsOf(fleet.waitedMs.get('elsewhere') ?? []),
    affected: affected === undefined ? null : waitsOf(affected),
    mostInFlight: fleet.mostInFlight,
  };
}

/** Each event goes to an instance that lives, as a load balancer would send it, and again if it was refused. */
function send(fleet: Fleet, size: Size, random: Random, groupOf: (destination: number) => string): void {
  const sendOne = (destination: DestinationKey, group: string) => {
    let instance = fleet.instances[random.below(size.instances)];
    while (instance?.isUp === false) instance = fleet.instances[random.below(size.instances)];
    instance?.accept(destination, group, () =>
      fleet.at(fleet.nowMs + SEND_AGAIN_MS, () => sendOne(destination, group)),
    );
  };
  const next = () => {
    const destination = pick(random, size.destinations);
    sendOne(keyOf(destination), groupOf(destination));
    if (fleet.nowMs < SENDING_MS) fleet.at(fleet.nowMs + 1_000 / size.perSecond, next);
  };
  fleet.at(0, next);
}

/** One in a hundred destinations gets a fifth of all deliveries. */
function pick(random: Random, destinations: number): number {
  return Math.floor(destinations * (random.below(1e9) / 1e9) ** 3);
}

function keyOf(destination: number): DestinationKey {
  return `ent_${entityOf(destination)} https://${destination}.example:443` as DestinationKey;
}

function numberOf(destination: DestinationKey): number {
  return Number(destination.slice(destination.indexOf('//') + 2, destination.indexOf('.example')));
}

function waitsOf(waited: readonly number[]): Waits {
  const sorted = waited.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), mostMs: at(1) };
}

export const HEADINGS = [
  ...['what is wrong', 'accepted', 'refused', 'lost', 'twice'],
  ...['elsewhere p50/p99/most, ms', 'affected p50/p99/most, ms', 'most at one destination'],
];

export function rowOf({ name, accepted, refused, lost, twice, elsewhere, affected, mostInFlight }: Run): string[] {
  const counts = [accepted, refused, lost, twice].map((count) => count.toLocaleString('en'));
  return [name, ...counts, showWaits(elsewhere), affected === null ? '' : showWaits(affected), String(mostInFlight)];
}

function showWaits({ p50Ms, p99Ms, mostMs }: Waits): string {
  return [p50Ms, p99Ms, mostMs]
    .map((ms) => (ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString('en')))
    .join(' / ');
}
