import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { EVENT_KINDS } from '../../../../src/domain/event-kinds.ts';
import { roleOf } from '../../../../src/domain/supersession/rules.ts';
import type { Claimed } from '../../../../src/store/deliveries/claim/claimed.ts';
import { redeliver } from '../../../../src/store/deliveries/redeliver/redeliver.ts';
import { deleteWebhook } from '../../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { accept, claim, HOOK, LEASE_MS, letPass, newEvent, statuses } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { attemptThat, countRows, type End, keepOrder, readNumbers, record } from '../../../support/order.ts';
import { onEveryEngine, type TestStore } from '../../../support/stores.ts';
import { runTasks } from '../../../support/tasks.ts';
import { newEntity, register } from '../../../support/webhooks.ts';

/**
 * The rules of order and supersession as a model in memory, compared with the store after every step: which deliveries wait,
 * in which order they are claimed, and which are never sent.
 */

const CHANGE = { actor: 'test', nowS: 1_763_168_400 };
const RUNS = { sqlite: 40, postgres: 12 } as const;

type Step =
  | { do: 'accept'; event: string; agreementId: string | null; transferId: string | null }
  | { do: 'attempt'; end: End; most: number }
  | { do: 'lose'; most: number }
  | { do: 'wait' }
  | { do: 'suspend' | 'resume' | 'delete'; event: string }
  | { do: 'redeliver'; which: number };

const kind = fc.constantFrom(...EVENT_KINDS);
const subject = fc.constantFrom(null, 'a', 'b');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('accept' as const),
      event: kind,
      agreementId: subject,
      transferId: subject,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('attempt' as const),
      end: fc.constantFrom<End>('delivered', 'failed', 'retried'),
      most: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const), most: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('suspend' as const, 'resume' as const), event: kind }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('delete' as const), event: fc.constantFrom('TransferCreated') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('redeliver' as const), which: fc.nat(30) }) },
);

type Modelled = {
  readonly sequence: number;
  readonly event: string;
  readonly agreementId: string | null;
  readonly subject: string | null;
  hasEnded: boolean;
};

class Model {
  readonly deliveries: Modelled[] = [];
  readonly paid = new Set<string>();

  accept(event: string, agreementId: string | null, transferId: string | null, isRegistered: boolean): boolean {
    const role = roleOf(event, { agreementId, transferId });
    if (role?.kind === 'supersedes') {
      for (const one of this.deliveries) {
        const other = one.subject === role.subject && roleOf(one.event, { agreementId: 'x', transferId: 'x' });
        if (other && other.kind === 'superseded') one.hasEnded = true;
      }
      this.paid.add(role.subject);
    }
    if (role?.kind === 'superseded' && role.onArrival && this.paid.has(role.subject)) return false;
    if (!isRegistered) return false;
    const sequence = this.deliveries.length + 1;
    this.deliveries.push({ sequence, event, agreementId, subject: role?.subject ?? null, hasEnded: false });
    return true;
  }

  of(sequence: number): Modelled {
    const found = this.deliveries[sequence - 1];
    if (found === undefined) throw new Error(`no delivery has the number ${sequence}`);
    return found;
  }

  /** The first of its agreement that has not ended; without an agreement, any. */
  hasTurn(one: Modelled): boolean {
    if (one.hasEnded) return false;
    const { agreementId } = one;
    return (
      agreementId === null ||
      this.deliveries.find((other) => other.agreementId === agreementId && !other.hasEnded) === one
    );
  }
}

class Run {
  readonly model = new Model();
  readonly webhooks = new Map<string, string>();
  readonly suspended = new Set<string>();

  constructor(
    private readonly store: TestStore,
    private readonly entityId: string,
  ) {}

  async start(): Promise<void> {
    const { db } = this.store;
    const pairs = EVENT_KINDS.map((event) => ({ networkId: 1, event }));
    const { webhooks } = await register(db, this.entityId, HOOK, pairs);
    for (const { event, webhookId } of webhooks) this.webhooks.set(event, webhookId);
    await keepOrder(db, this.entityId, HOOK);
  }

  async take(one: Step): Promise<void> {
    const { db } = this.store;
    switch (one.do) {
      case 'accept': {
        const { event, agreementId, transferId } = one;
        const isDelivered = this.model.accept(event, agreementId, transferId, this.webhooks.has(event));
        const results = await accept(db, newEvent(this.entityId, { event, agreementId, transferId }));
        expect(results).toMatchObject([{ deliveries: isDelivered ? 1 : 0 }]);
        return;
      }
      case 'attempt':
        return this.attempt(await this.claim(one.most), one.end);
      case 'lose':
        await this.claim(one.most);
        await letPass(db, this.entityId, LEASE_MS);
        return;
      case 'wait':
        return letPass(db, this.entityId, 60_000);
      case 'redeliver': {
        const deliveries = await readNumbers(db, this.entityId);
        const found = deliveries[one.which];
        if (found !== undefined) await redeliver(db, this.entityId, found.deliveryId).catch(() => undefined);
        return;
      }
      default:
        return this.change(one.do, one.event);
    }
  }

  async change(what: 'suspend' | 'resume' | 'delete', event: string): Promise<void> {
    const { db } = this.store;
    const webhookId = this.webhooks.get(event);
    if (webhookId === undefined) return;
    if (what === 'suspend') await suspendWebhook(db, this.entityId, webhookId, 'failing', CHANGE);
    if (what === 'resume') await resumeWebhook(db, this.entityId, webhookId, CHANGE);
    if (what !== 'delete') return;
    await deleteWebhook(db, this.entityId, webhookId, () => true, CHANGE);
    this.webhooks.delete(event);
    await runTasks(db);
    for (const one of this.model.deliveries) one.hasEnded ||= one.event === event;
  }

  /** Everything that is claimed has its turn, or has ended and is sent again. */
  async claim(most: number): Promise<Claimed[]> {
    const claimed = await claim(this.store.db, this.entityId, most);
    for (const { sequence, kind: attempt } of claimed) {
      const one = this.model.of(sequence ?? 0);
      expect({ sequence, isAllowed: this.model.hasTurn(one) || (one.hasEnded && attempt === 'redelivery') }).toEqual({
        sequence,
        isAllowed: true,
      });
    }
    return claimed;
  }

  async attempt(claimed: readonly Claimed[], end: End): Promise<void> {
    await record(this.store.db, ...claimed.map((delivery) => attemptThat(end, delivery)));
    for (const { sequence, kind: attempt } of claimed) {
      const one = this.model.of(sequence ?? 0);
      one.hasEnded ||= end === 'delivered' || (end === 'failed' && attempt !== 'redelivery');
    }
  }

  /** Nothing stands still: all that waits is sent in the end, in order. */
  async finish(): Promise<void> {
    const { db } = this.store;
    for (const event of this.webhooks.keys()) await this.change('resume', event);
    for (let round = 0; round < 200 && (await countRows(db, 'queue', this.entityId)) > 0; round++) {
      await this.attempt(await this.claim(100), 'delivered');
      await letPass(db, this.entityId, 60_000);
    }
    const waiting = new Set(['pending', 'retrying', 'held']);
    expect((await statuses(db, this.entityId)).filter((status) => waiting.has(status))).toEqual([]);
    expect(await countRows(db, 'order_keys', this.entityId)).toBe(0);
    const numbers = (await readNumbers(db, this.entityId)).map(({ sequence }) => sequence);
    expect(numbers).toEqual(this.model.deliveries.map(({ sequence }) => sequence));
    expect(await wrongDeliveryCounters(db)).toEqual([]);
  }
}

onEveryEngine('order and supersession', (store) => {
  test('follow the model in any sequence of steps', async () => {
    // `Run` compares every step with the model.
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const run = new Run(store, await newEntity(store.db));
        await run.start();
        for (const one of steps) await run.take(one);
        await run.finish();
      }),
      { numRuns: RUNS[store.engine] },
    );
  });
});
