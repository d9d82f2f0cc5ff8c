import { DomainError } from '../../src/domain/errors.ts';
import { type Database, StoreUnavailableError } from '../../src/store/database/database.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { Instance } from './fleet/instance.ts';
import type { Network } from './fleet/network.ts';
import type { Receivers } from './fleet/receivers.ts';
import type { Span } from './model/history.ts';
import { Model } from './model/model.ts';
import { as } from './world/owners.ts';
import type { Random } from './world/random.ts';
import { world } from './world/world.ts';

/** What an operation or a fault concerned, for the matrix; everything where it names nothing. */
export type Scope = {
  readonly webhook?: string;
  readonly postUrl?: string;
  readonly eventId?: string;
  readonly payment?: string;
};

/** An operation that was carried out. */
export type Occurrence = { readonly name: string; readonly atMs: number; readonly scope: Scope };

type Parts = {
  readonly shared: Database;
  /** The same database, as someone sees it who meets no faults. */
  readonly observer: Database;
  readonly entityId: string;
  readonly fleet: Fleet;
  readonly network: Network;
  readonly receivers: Receivers;
};

/** One run: the service, the world around it, and what is known about both. */
export class Simulation {
  readonly occurrences: Occurrence[] = [];
  /** Errors that are neither a rejection nor an outage. */
  readonly unexpected: string[] = [];

  /** For each fault of a hint, its random numbers. The next event of a webhook corrects its hints, so the faults return later. */
  readonly hintFaults: Random[] = [];

  readonly model = new Model();
  readonly shared: Database;
  readonly observer: Database;
  readonly entityId: string;
  readonly fleet: Fleet;
  readonly network: Network;
  readonly receivers: Receivers;

  constructor({ shared, observer, entityId, fleet, network, receivers }: Parts) {
    this.shared = shared;
    this.observer = observer;
    this.entityId = entityId;
    this.fleet = fleet;
    this.network = network;
    this.receivers = receivers;
  }

  /**
   * Sends a request to an instance, whose work is the owner's. The span ends with the answer; a rejection is an answer too, after
   * which nothing has changed.
   */
  request(draw: Random, work: (instance: Instance) => Promise<void>, { span, onRejected }: RequestOptions = {}): void {
    const instance = this.fleet.pick(draw);
    if (instance === null) {
      onRejected?.();
      return;
    }
    const answered = async () => {
      try {
        await work(instance);
        if (span !== undefined) span.endMs = world.nowMs;
      } catch (error) {
        if (error instanceof DomainError) onRejected?.();
        else if (!(error instanceof StoreUnavailableError)) this.#noteUnexpected(error);
      }
    };
    void as(instance.owner, answered);
  }

  #noteUnexpected(error: unknown): void {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    world.note(`unexpected ${text}`);
    this.unexpected.push(text);
  }
}

export type RequestOptions = { readonly span?: Span; readonly onRejected?: () => void };
