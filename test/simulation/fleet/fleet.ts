import type { Database } from '../../../src/store/database/database.ts';
import { DatabaseFaults } from '../store/faults.ts';
import { InstanceDatabase } from '../store/instance-database.ts';
import { Notifications } from '../store/notifications.ts';
import { as, asNobody, type Owner } from '../world/owners.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import { type Instance, startInstance } from './instance.ts';
import type { Network } from './network.ts';
import type { Receivers } from './receivers.ts';
import { simulatedDialect } from './settings.ts';

export type FleetOptions = {
  readonly size: number;
  readonly shared: Database;
  readonly receivers: Receivers;
  readonly network: Network;
};

type Slot = { instance: Instance | null; faults: DatabaseFaults; owner: Owner };

/** A supervisor starts an instance again after this long, when it has ended by itself. */
const RESTART_MS = 500;

/** The instances, each in a slot where a new one is started when it has been killed. */
export class Fleet {
  readonly #slots: Slot[] = [];
  readonly #notifications = new Notifications();
  #started = 0;

  constructor(private readonly options: FleetOptions) {}

  get size(): number {
    return this.options.size;
  }

  async start(): Promise<void> {
    for (let slot = 0; slot < this.options.size; slot++) {
      this.#slots.push({ instance: null, faults: new DatabaseFaults(), owner: this.#newOwner() });
      this.#run(slot);
    }
    await world.pass(60_000, () => this.running.length === this.options.size);
  }

  /** The instances that take requests. */
  get running(): Instance[] {
    return this.#slots.flatMap(({ instance }) => (instance?.owner.isAlive === true ? instance : []));
  }

  /** An instance that takes requests; null while none does. */
  pick(draw: Random): Instance | null {
    return draw.pick(this.running) ?? null;
  }

  /** The faults of the database that the instance in a slot meets. */
  faultsOf(slot: number): DatabaseFaults | undefined {
    return this.#slots[slot]?.faults;
  }

  /** Ends an instance at once, wherever it is, and starts another one in its place. */
  kill(slot: number, downMs: number): boolean {
    const killed = this.#slots[slot];
    if (killed === undefined || !killed.owner.isAlive) return false;
    killed.owner.isAlive = false;
    killed.instance = null;
    killed.faults.clear();
    world.note(`kill ${killed.owner.name}`);
    asNobody(() => world.schedule(() => this.#run(slot), downMs));
    return true;
  }

  freeze(slot: number, ms: number): boolean {
    const frozen = this.#slots[slot];
    if (frozen === undefined || !frozen.owner.isAlive) return false;
    frozen.owner.frozenUntilMs = Math.max(frozen.owner.frozenUntilMs, world.nowMs + ms);
    world.note(`freeze ${frozen.owner.name} ${ms.toFixed(0)}`);
    return true;
  }

  /** From now on no call of the database fails, and no instance stands still. */
  heal(): void {
    world.note('heal');
    for (const { faults, owner } of this.#slots) {
      faults.clear();
      owner.frozenUntilMs = world.nowMs;
    }
  }

  /** The end of the run. */
  stop(): void {
    for (const { owner } of this.#slots) owner.isAlive = false;
  }

  #newOwner(): Owner {
    return { name: `i${++this.#started}`, isAlive: true, frozenUntilMs: 0 };
  }

  #run(slot: number): void {
    const place = this.#slots[slot];
    if (place === undefined) return;
    const owner = this.#newOwner();
    place.owner = owner;
    as(owner, () => this.#startOne(place, owner)).catch(() => {
      // The program ends with the error, and its supervisor starts it again.
      owner.isAlive = false;
      asNobody(() => world.schedule(() => this.#run(slot), RESTART_MS));
    });
  }

  async #startOne(place: Slot, owner: Owner): Promise<void> {
    const { shared, receivers, network, size } = this.options;
    const db = new InstanceDatabase({
      shared,
      engine: size === 1 && shared.engine === 'sqlite' ? 'sqlite' : 'postgres',
      dialect: simulatedDialect(shared.dialect),
      ...{ owner, faults: place.faults, notifications: this.#notifications },
    });
    const networkStore = network.storeFor(db, owner.name);
    place.instance = await startInstance({ owner, db, receivers, networkStore, network });
    world.note(`started ${owner.name}`);
  }
}
