import { Semaphore } from '../admission.ts';
import { MAX_WAITING, type Reads, type SqlValue, type WorkerCallback } from '../database.ts';
import { ShardMap, type WorkerName } from './shard-map.ts';
import { type Route, routeOf } from './statement-route.ts';
import { type Probe, WorkerGate } from './worker-gate.ts';

export type CallKind = 'read' | 'snapshot' | 'transaction';

/** How many calls of each kind may need one worker at a time: less than the store has for all workers together. */
export type Slots = Readonly<Record<CallKind, number>>;

/** A worker with its gate and the slots of its calls. */
export type GatedWorker = { readonly gate: WorkerGate; readonly slots: Readonly<Record<CallKind, Semaphore>> };

const CHECK_EVERY_MS = 100;
/** After a shard was moved, its entity counts to the worker that it was on until the map is read again. */
const READ_EVERY_MS = 30_000;

export type WorkerGatesOptions = {
  readonly reads: Pick<Reads, 'all'>;
  readonly probe: Probe;
  readonly slots: Slots;
  readonly nowMs?: () => number;
};

/** The workers of a cluster, by what a statement needs. */
export class WorkerGates {
  #map = ShardMap.of([]);
  readonly #workers = new Map<WorkerName, GatedWorker>();
  readonly #timer: Timer;
  #readAtMs: number;
  readonly #nowMs: () => number;
  onWorker: WorkerCallback = () => undefined;

  private constructor(private readonly options: WorkerGatesOptions) {
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#readAtMs = this.#nowMs();
    this.#timer = setInterval(() => this.check(), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  static async open(options: WorkerGatesOptions): Promise<WorkerGates> {
    const gates = new WorkerGates(options);
    await gates.readMap();
    return gates;
  }

  /** The workers that give no answer. */
  silent(): readonly WorkerName[] {
    return [...this.#workers.values()].flatMap(({ gate }) => (gate.state === 'silent' ? gate.name : []));
  }

  hasWorker(): boolean {
    return this.#workers.size === 0 || this.silent().length < this.#workers.size;
  }

  /** The worker with the rows of an entity; null if it is not known. */
  ofEntity(entity: SqlValue | undefined): GatedWorker | null {
    const name = this.#map.workerOf(entity);
    return name === null ? null : (this.#workers.get(name) ?? null);
  }

  /** The workers that the statement needs. */
  neededBy(sql: string, params: readonly SqlValue[]): readonly GatedWorker[] {
    const route: Route = routeOf(sql);
    if (route === 'no worker') return [];
    if (route === 'every worker') return [...this.#workers.values()];
    if (route === 'workers that respond') {
      return [...this.#workers.values()].filter(({ gate }) => gate.state !== 'silent');
    }
    const entities = new Set(route.entitiesIn.map((position) => params[position]));
    return [...new Set([...entities].flatMap((entity) => this.ofEntity(entity) ?? []))];
  }

  check(): void {
    for (const { gate } of this.#workers.values()) gate.check();
    if (this.#nowMs() - this.#readAtMs >= READ_EVERY_MS) void this.readMap().catch(() => undefined);
  }

  /** A worker keeps its state for as long as it has rows. */
  async readMap(): Promise<void> {
    this.#readAtMs = this.#nowMs();
    const map = await ShardMap.read(this.options.reads);
    for (const name of this.#workers.keys()) if (!map.workers.includes(name)) this.#workers.delete(name);
    for (const name of map.workers) if (!this.#workers.has(name)) this.#workers.set(name, this.#newWorker(name));
    this.#map = map;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #newWorker(name: WorkerName): GatedWorker {
    const { probe, slots } = this.options;
    const ofKind = (kind: CallKind) => new Semaphore(slots[kind], MAX_WAITING);
    return {
      gate: new WorkerGate(name, probe, (...change) => this.onWorker(...change), this.#nowMs),
      slots: { read: ofKind('read'), snapshot: ofKind('snapshot'), transaction: ofKind('transaction') },
    };
  }
}
