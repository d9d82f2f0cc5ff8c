import type { DeliveryStatus } from '../../../src/domain/attempt.ts';
import { EntityUsage } from '../../../src/store/deliveries/counts/usage.ts';
import { type DeliveryState, readDeliveries } from '../../../test/support/deliveries.ts';
import type { ReceivedRequest } from '../../../test/support/ledger.ts';
import type { Client } from '../../../test/support/service.ts';
import { repeatedWithoutCause } from '../../harness/repeats.ts';
import { withStore } from '../../harness/store-audit.ts';
import { type Testbed, targetOf } from '../../harness/testbed.ts';
import { eventually, waitUntil } from '../../harness/waiting.ts';

/** The webhook that the calls are about, and the header that shows which requests the killed instance sent. */
export const SUBJECT = '/first';
export const VICTIM_HEADER = 'x-from-victim';

const NO_LIMIT = 1_000_000_000;

/** The longest attempt that is allowed, so that no lease ends within a trial. */
export const DELIVERY_TIMEOUT = '5m';
const LEASE_MS = 315_000;

/** A testbed with a backlog: receivers that wait until they are opened, and what the store has to show in the end. */
export class Site {
  /** Deliveries of the subject that ended in one of these are as the call demands. */
  demanded: readonly DeliveryStatus[] = ['delivered'];
  /** The call itself asks for more requests of a delivery. */
  mayRepeat = false;
  /** Events that retention removes. */
  readonly forgotten = new Set<string>();
  /** The status with which the subject responds once the receivers are open. */
  subjectStatus = 200;
  #gate = Promise.withResolvers<void>();
  #sentBeforeKill = 0;
  /** The last end of a lease that the dead instance can have taken. */
  #lastLeaseMs = 0;
  #atKill: readonly DeliveryState[] = [];

  constructor(readonly testbed: Testbed) {
    testbed.ledger.reply = async ({ path }) => {
      await this.#gate.promise;
      return new Response(null, { status: path === SUBJECT ? this.subjectStatus : 200 });
    };
    this.open();
  }

  get subjectId(): string {
    return this.testbed.webhookIds.get(SUBJECT) ?? '';
  }

  get subjectPath(): string {
    return `/webhooks/classic/${this.subjectId}`;
  }

  close(): void {
    this.#gate = Promise.withResolvers<void>();
  }

  open(): void {
    this.#gate.resolve();
  }

  /** For calls about deliveries that are complete. */
  async deliverAll(): Promise<void> {
    this.open();
    await this.testbed.recover();
  }

  deliveries(): Promise<DeliveryState[]> {
    const { entityId } = this.testbed.instances.credentials;
    return withStore(this.testbed.url, (db) => readDeliveries(db, entityId));
  }

  async isSuspended(client: Client): Promise<boolean> {
    const response = await client.request('GET', `${this.subjectPath}/health`);
    return ((await response.json()) as { state: string }).state === 'suspended';
  }

  /** The receiver responds with 410 to one event, for which Paybell suspends the webhook. */
  async suspendSubject(client: Client): Promise<void> {
    this.subjectStatus = 410;
    await this.testbed.load([client], { most: 1 }).ended;
    await waitUntil('the webhook is suspended', () => this.isSuspended(client));
    this.subjectStatus = 200;
  }

  async expectStatus(what: string, response: Response, ...expected: readonly number[]): Promise<void> {
    if (expected.includes(response.status)) return;
    this.testbed.violations.push(`${what} got the response ${response.status}: ${await response.text()}`);
  }

  /** Reads what the kill left, against which every later request is checked. */
  async noteKill(): Promise<void> {
    this.#lastLeaseMs = Date.now() + LEASE_MS;
    this.#atKill = await this.deliveries();
    // Last, because requests that were on their way at the kill arrive a moment later.
    this.#sentBeforeKill = this.testbed.ledger.requests.length;
  }

  /**
   * On PostgreSQL what the dead instance had claimed waits for the end of its lease, also where the claim was committed
   * after its death; on SQLite nothing may. Leases that were taken later end later.
   */
  async leasedTargets(): Promise<Set<string>> {
    if (this.testbed.options.engine === 'sqlite') return new Set();
    const paths = new Map([...this.testbed.webhookIds].map(([path, webhookId]) => [webhookId, path]));
    const leased = (await this.deliveries()).filter(({ leaseMs }) => leaseMs > 0 && leaseMs <= this.#lastLeaseMs);
    return new Set(leased.map(({ eventId, webhookId }) => targetOf(eventId, paths.get(webhookId) ?? '')));
  }

  /** Every delivery is in the record with the status that is demanded, and was sent as often as it had to be. */
  async audit(): Promise<string[]> {
    const { testbed } = this;
    const { entityId } = testbed.instances.credentials;
    const settled = await eventually(async () => (await this.#wrongStatuses()).length === 0, { everyMs: 500 });
    const { waiting } = await withStore(testbed.url, (db) => new EntityUsage(db, NO_LIMIT).read(entityId));
    return [
      ...(settled ? [] : await this.#wrongStatuses()),
      ...(waiting === 0 ? [] : [`the backlog is ${waiting} although nothing waits`]),
      ...(this.mayRepeat ? [] : this.#repeatedWithoutCause()),
    ];
  }

  async #wrongStatuses(): Promise<string[]> {
    const { testbed, forgotten } = this;
    const found = new Map<string, DeliveryStatus>();
    for (const { eventId, webhookId, status } of await this.deliveries()) found.set(`${eventId} ${webhookId}`, status);
    const wrong: string[] = [];
    for (const eventId of testbed.acknowledged) {
      for (const [path, webhookId] of testbed.webhookIds) {
        const status = found.get(`${eventId} ${webhookId}`);
        const expected: readonly (DeliveryStatus | undefined)[] = path === SUBJECT ? this.demanded : ['delivered'];
        const isRight = forgotten.has(eventId) ? status === undefined : expected.includes(status);
        if (!isRight) wrong.push(`${targetOf(eventId, path)} is ${status ?? 'not in the store'}`);
      }
    }
    return wrong.length === 0 ? [] : [`${wrong.length} deliveries are not as demanded: ${wrong[0]}`];
  }

  /** Only what the dead instance had sent and not recorded may be sent again. */
  #repeatedWithoutCause(): string[] {
    const recorded = new Set(
      this.#atKill.filter(({ status }) => status === 'delivered').map(({ deliveryId }) => deliveryId),
    );
    const wasNotRecorded = ({ deliveryId, headers }: ReceivedRequest, index: number) =>
      index < this.#sentBeforeKill && VICTIM_HEADER in headers && !recorded.has(deliveryId);
    return repeatedWithoutCause(this.testbed.ledger.requests, wasNotRecorded);
  }
}
