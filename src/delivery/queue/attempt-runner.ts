import { isSuccess, type Outcome, showsDestinationUnhealthy } from '../../domain/attempt.ts';
import type { DestinationKey } from '../../domain/post-url.ts';
import { traceIdsOf } from '../../domain/trace-context.ts';
import type { Logger } from '../../log.ts';
import type { Claimed } from '../../store/deliveries/claim/claimed.ts';
import type { AttemptRecord } from '../../store/deliveries/record/attempt-log.ts';
import { type AttemptTools, LeaseTooShortError, makeAttempt } from '../attempt.ts';
import { LocalShortageError } from '../local-shortage.ts';
import type { ClaimReturns } from './claim-returns.ts';
import type { AttemptResult } from './destination-health.ts';
import type { LocalQueue } from './local-queue.ts';

export type AttemptRunnerOptions = {
  readonly queue: LocalQueue<Claimed>;
  readonly log: Logger;
  readonly tools: AttemptTools;
  /** The longest that a request takes. An attempt begins only while its lease lasts longer than this. */
  readonly timeoutMs: number;
  /** Returns claims that are not attempted. */
  readonly returns: Pick<ClaimReturns, 'add'>;
  readonly onFinished: (record: AttemptRecord) => void;
  /** Called if nothing was sent to the destination, because this machine has no room for another connection. */
  readonly onShortage: (shortage: LocalShortageError, destination: DestinationKey) => void;
  /** Called when a delivery to the destination has left the queue. */
  readonly onReleased: (destination: DestinationKey) => void;
  readonly monotonicMs?: () => number;
};

/** Makes the attempts of the deliveries in the local queue, and returns claims that it cannot attempt soon. */
export class AttemptRunner {
  /** By delivery id, from `enqueue` to `forget`, including deliveries whose outcome is not recorded yet. */
  readonly #held = new Map<string, Claimed>();
  #onIdle: () => void = () => undefined;

  constructor(private readonly options: AttemptRunnerOptions) {}

  /**
   * The held delivery, if it is for the same attempt. After an attempt is recorded, the delivery may be claimed for the
   * next one.
   */
  find({ deliveryId, attempts }: Claimed): Claimed | undefined {
    const held = this.#held.get(deliveryId);
    return held?.attempts === attempts ? held : undefined;
  }

  /** Call this when the outcome is recorded, or when another instance has the claim. */
  forget(delivery: Claimed): void {
    if (this.#held.get(delivery.deliveryId) === delivery) this.#held.delete(delivery.deliveryId);
  }

  /** Takes deliveries that have a reservation. Each starts as soon as its destination has a slot for it. */
  enqueue(deliveries: readonly Claimed[]): void {
    for (const delivery of deliveries) this.#enqueue(delivery);
    for (const { destination } of deliveries) this.#startNext(destination);
  }

  /** Never throws: the other deliveries of the batch are committed, and must be sent. */
  #enqueue(delivery: Claimed): void {
    try {
      this.options.queue.enqueue(delivery);
      this.#held.set(delivery.deliveryId, delivery);
    } catch (error) {
      const { entityId, deliveryId, trace } = delivery;
      const message = 'a delivery could not be queued; it is claimed again when its lease expires';
      this.options.log.error({ err: error, entityId, deliveryId, ...traceIdsOf(trace) }, message);
    }
  }

  /** Releases the slots of deliveries whose acceptance failed. */
  cancel(slots: ReadonlyMap<DestinationKey, number>): void {
    for (const [destination, count] of slots) {
      this.options.queue.release(destination, count);
      this.options.onReleased(destination);
    }
  }

  /** Releases the slots and the claims of deliveries that were committed while the process was already stopping. */
  reject(deliveries: readonly Claimed[]): void {
    const slots = Map.groupBy(deliveries, ({ destination }) => destination);
    this.cancel(new Map([...slots].map(([destination, held]) => [destination, held.length])));
    this.#return(deliveries);
  }

  /** Returns the claims of everything that is not in flight. */
  drain(): void {
    this.#return(this.options.queue.drain());
  }

  /** Resolves when no attempt is in flight. */
  async idle(): Promise<void> {
    const idle = Promise.withResolvers<void>();
    this.#onIdle = idle.resolve;
    if (this.options.queue.inFlight > 0) await idle.promise;
  }

  #startNext(destination: DestinationKey): void {
    const { queue } = this.options;
    for (let next = queue.start(destination); next !== null; next = queue.start(destination)) void this.#attempt(next);
  }

  async #attempt(delivery: Claimed): Promise<void> {
    let record: AttemptRecord;
    try {
      record = await makeAttempt(this.options.tools, delivery, () => this.#mayBegin(delivery));
    } catch (error) {
      if (error instanceof LocalShortageError) this.#postpone(delivery, error);
      else if (error instanceof LeaseTooShortError) this.#giveUp(delivery);
      else this.#abandon(delivery, error);
      return;
    }
    this.options.onFinished(record);
    this.#finish(delivery, resultOf(record.outcome), record.outcome.durationMs);
  }

  /**
   * Whether the lease lasts longer than a request. Uses the monotonic clock, which also runs while the process is
   * frozen.
   */
  #mayBegin({ leaseEndsMs }: Claimed): boolean {
    const { timeoutMs, monotonicMs = () => performance.now() } = this.options;
    return leaseEndsMs - monotonicMs() > timeoutMs;
  }

  /** Ends the lease, so that the delivery is due again, unless another instance has claimed it since then. */
  #giveUp(delivery: Claimed): void {
    this.#return([delivery]);
    this.#finish(delivery, 'other', 0);
  }

  /**
   * Drops a delivery that could not be prepared. Nothing was sent, so no attempt counts, and the delivery is due again
   * when its lease ends.
   */
  #abandon(delivery: Claimed, error: unknown): void {
    const { entityId, deliveryId, trace } = delivery;
    this.forget(delivery);
    const message = 'a delivery could not be prepared; it is retried when its lease expires';
    this.options.log.warn({ err: error, entityId, deliveryId, ...traceIdsOf(trace) }, message);
    this.#finish(delivery, 'other', 0);
  }

  /** Returns the claim as it was: another instance may have room, and this one tries again after its pause. */
  #postpone(delivery: Claimed, shortage: LocalShortageError): void {
    this.options.onShortage(shortage, delivery.destination);
    this.#giveUp(delivery);
  }

  #finish(delivery: Claimed, result: AttemptResult, durationMs: number): void {
    const { queue, onReleased } = this.options;
    const { destination } = delivery;
    queue.finish(delivery, result, durationMs);
    const overdue = queue.takeOverdue(destination);
    if (overdue.length > 0) this.#return(overdue);
    else this.#startNext(destination);
    onReleased(destination);
    if (queue.inFlight === 0) this.#onIdle();
  }

  #return(deliveries: readonly Claimed[]): void {
    for (const delivery of deliveries) this.forget(delivery);
    this.options.returns.add(deliveries);
  }
}

function resultOf(outcome: Outcome): AttemptResult {
  if (isSuccess(outcome)) return 'success';
  return showsDestinationUnhealthy(outcome) ? 'unhealthy' : 'other';
}
