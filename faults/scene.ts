import { type Instance, Instances } from '../test/support/instances.ts';
import { Ledger, type Reply } from '../test/support/ledger.ts';
import type { Client } from '../test/support/service.ts';
import { type Finding, RECOVERY_LIMIT_MS, type Trial } from './fault.ts';
import { noteClosed, noteOpened } from './left-open.ts';
import { bodyOf, Load } from './load.ts';
import { auditAtRest, countRows, withStore } from './store-audit.ts';

/** An attempt may take this long, so that a lease, which outlives it by 15 s, ends within the time of a trial. */
const DELIVERY_TIMEOUT = '1s';
/** More than any lease of a trial. */
const PAST_ANY_LEASE_MS = 60_000;
/** So many receive every event: an event is there for all of them or for none. */
const PATHS = ['/first', '/second', '/third'];
const POLL_MS = 20;

type HowMuch = { atATime?: number; most?: number; restMs?: number };
type SceneOptions = { settings?: Record<string, string>; reply?: Reply };

/** A store, processes on it, a receiver with a ledger, and what was acknowledged to whoever sent events. */
export class Scene implements AsyncDisposable {
  readonly acknowledged = new Set<string>();
  readonly broken: string[] = [];
  /** Events that were sent and not answered; the sender will try again. */
  readonly mustBeSentAgain: string[] = [];
  /** Deliveries whose answer was given and never written down: they have to be posted a second time. */
  readonly mustComeAgain = new Set<string>();
  #recoveredInMs = 0;
  #registered = false;
  #loads = 0;
  /** Of each post that was read so far, its event and its path. */
  readonly #arrived = new Set<string>();
  #read = 0;

  private constructor(
    readonly trial: Trial,
    readonly instances: Instances,
    readonly ledger: Ledger,
  ) {}

  static async open(trial: Trial, { settings = {}, reply }: SceneOptions = {}): Promise<Scene> {
    // With few deliveries at a time `serve` has no need to start itself anew, which is most of a start.
    const common = { DELIVERY_TIMEOUT, LOG_LEVEL: 'warn', ...(trial.hurry ? { DELIVERY_CONCURRENCY: '128' } : {}) };
    const instances = await Instances.on(trial.engine, { ...common, ...settings });
    const scene = new Scene(trial, instances, new Ledger(reply));
    noteOpened(scene);
    return scene;
  }

  get url(): string {
    return this.instances.databaseUrl;
  }

  /** Another process on the store; with the first of them come the webhooks. */
  async start(settings: Record<string, string> = {}): Promise<Instance> {
    const instance = await this.instances.start(settings);
    await this.register(instance.client);
    return instance;
  }

  async register(client: Client): Promise<void> {
    if (this.#registered) return;
    this.#registered = true;
    for (const path of PATHS) await client.register(this.ledger.url(path));
  }

  /** Whatever is acknowledged counts. */
  load(clients: readonly Client[], options: HowMuch = {}): Load {
    const load = this.loadApart(clients, options);
    void load.ended.then(() => this.noteAcknowledged(load));
    return load;
  }

  /** Nothing of it counts but what is noted. */
  loadApart(clients: readonly Client[], options: HowMuch = {}): Load {
    return new Load(clients, { prefix: `load-${++this.#loads}`, ...options });
  }

  noteAcknowledged({ acknowledged }: Load): void {
    for (const eventId of acknowledged) this.acknowledged.add(eventId);
  }

  /** Where other instances may be alive, the leases of a dead one have to run out: in the short form at once. */
  async letLeasesRunOut(): Promise<void> {
    if (!this.trial.hurry || this.trial.engine === 'sqlite') return;
    await withStore(this.url, (db) =>
      db.transaction((queries) =>
        queries.run(
          `update deliveries set due_ms = due_ms - ${PAST_ANY_LEASE_MS} where due_ms is not null and claimed = 1`,
        ),
      ),
    );
  }

  hasAllArrived(): boolean {
    return this.#missing().length === 0;
  }

  /** Waits until everything acknowledged has arrived and nothing is left to send, counted from the end of the fault. */
  async recover(faultEndedAtMs = performance.now()): Promise<void> {
    const elapsedMs = () => performance.now() - faultEndedAtMs;
    while (this.#missing().length > 0 && elapsedMs() <= RECOVERY_LIMIT_MS) await Bun.sleep(POLL_MS);
    this.#recoveredInMs = Math.max(this.#recoveredInMs, elapsedMs());
    const missing = this.#missing();
    if (missing.length > 0) this.broken.push(`${missing.length} events had not arrived after 60 s (${missing[0]})`);
    else await this.#comeToRest();
  }

  /** Only now is the number of repeats final: what is still claimed may be posted again. */
  async #comeToRest(): Promise<void> {
    const endsAtMs = performance.now() + RECOVERY_LIMIT_MS;
    const left = () =>
      withStore(this.url, (db) => countRows(db, 'select count(*) as count from deliveries where due_ms is not null'));
    let waiting = await left();
    while (waiting > 0 && performance.now() < endsAtMs) {
      await Bun.sleep(POLL_MS * 5);
      waiting = await left();
    }
    if (waiting > 0) this.broken.push(`${waiting} deliveries were still not settled 60 s after the last had arrived`);
  }

  #missing(): string[] {
    const { posts } = this.ledger;
    for (; this.#read < posts.length; this.#read++) {
      const { eventId, path } = posts[this.#read] ?? {};
      this.#arrived.add(`${eventId} ${path}`);
    }
    return [...this.acknowledged].filter((id) => PATHS.some((path) => !this.#arrived.has(`${id} ${path}`)));
  }

  /** What the ledger and the store say in the end. */
  async finding(): Promise<Finding> {
    await this.instances.endAll();
    this.broken.push(...this.#wrongPosts(), ...(await auditAtRest(this.url)));
    const deliveries = new Set(this.ledger.posts.map(({ deliveryId }) => deliveryId));
    return {
      acknowledged: this.acknowledged.size,
      delivered: this.acknowledged.size - this.#missing().length,
      duplicated: this.ledger.posts.length - deliveries.size,
      recoveredInMs: this.#recoveredInMs,
      broken: [...new Set(this.broken)],
    };
  }

  /** Every post of an event to a webhook has one id and the bytes that were accepted, however often it came. */
  #wrongPosts(): string[] {
    const wrong: string[] = [];
    const times = new Map<string, number>();
    for (const { deliveryId } of this.ledger.posts) times.set(deliveryId, (times.get(deliveryId) ?? 0) + 1);
    for (const id of this.mustComeAgain) if ((times.get(id) ?? 0) < 2) wrong.push(`${id} was not posted again`);
    const idOf = new Map<string, string>();
    for (const { eventId, path, deliveryId, body } of this.ledger.posts) {
      const place = `${eventId} ${path}`;
      const known = idOf.get(place);
      if (known !== undefined && known !== deliveryId) wrong.push(`${place} came under two ids`);
      idOf.set(place, deliveryId);
      if (Buffer.from(body).toString() !== bodyOf(eventId)) wrong.push(`${place} came with other bytes than were sent`);
    }
    return wrong;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    noteClosed(this);
    await this.instances.stop();
    await this.ledger[Symbol.asyncDispose]();
  }
}

/** Ends the process as a power cut would, and waits until it is gone. */
export async function killAtOnce({ served }: Instance): Promise<void> {
  served.child.kill('SIGKILL');
  await served.child.exited;
}

/** A whole number from 1 to `most`. */
export function someOf(most: number): number {
  return 1 + Math.floor(Math.random() * most);
}
