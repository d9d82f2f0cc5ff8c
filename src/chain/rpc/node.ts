import type { CallMinute } from '../../domain/chain/call-minutes.ts';
import type { NodeLimits } from '../../store/chain/network-store.ts';
import { errorForAll, type Outcome, Outcomes, outcomesOf, payloadOf } from './batch.ts';
import { BatchSize } from './batch-size.ts';
import type { Call, Purpose } from './call.ts';
import { CallMeter } from './call-meter.ts';
import { type Dialect, ETHEREUM_DIALECT } from './dialect.ts';
import { type FailureKind, isRateLimit, isWithoutRoom, mayRefuseBatch, RpcFailure } from './failures.ts';
import type { Exchange } from './http-exchange.ts';
import { LogRange } from './log-range.ts';
import { type Clock, RateLimit, SYSTEM_CLOCK } from './rate-limit.ts';
import { maxBytesOf, mayBeLarge } from './response-size.ts';

export type NodeOptions = {
  /** The node's name in `GET /chains`, in metrics and in the log, such as `8453#1`. */
  readonly name: string;
  /** Identifies the node in votes, even after the setting has changed; the name by default. */
  readonly id?: string;
  readonly identity: Identity;
  /** The meaning of errors; Ethereum's by default. */
  readonly dialect?: Dialect;
  readonly exchange: Exchange;
  readonly clock?: Clock;
  /** The time of day. */
  readonly dateMs?: () => number;
  readonly random?: () => number;
  readonly callsPerSecond?: number;
  /** Whether the network has other nodes. If so, Paybell waits less for a node that hangs. */
  readonly hasOthers?: boolean;
  readonly onCall?: OnCall;
};

/** How to check that a node belongs to the right network. */
export type Identity = {
  readonly call: () => Call<unknown>;
  readonly isOf: (result: unknown) => boolean;
};

export type OnCall = (node: string, method: string, purpose: Purpose, outcome: 'ok' | FailureKind) => void;

const CALLS_PER_SECOND = 25;
/**
 * Time limit of a call with a small answer, if there are other nodes. With the usual limit, a hanging node would delay
 * the poll by ten seconds.
 */
const SMALL_CALL_MS = 3_000;
const FIRST_BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 60_000;

/** Whether a node can be reached, without its URL. */
export type Contact = {
  readonly name: string;
  readonly state: 'ok' | 'failing' | 'wrong_chain';
  readonly lastError: FailureKind | null;
  readonly lastOkAtMs: number | null;
  readonly limits: NodeLimits;
  /** The calls of the last hour. */
  readonly calls: readonly CallMinute[];
};

/**
 * One node of a network: its rate, its back-off and its health.
 *
 * A response counts as a success if any of its calls succeeded. After a failure, Paybell waits for a time that doubles,
 * and then checks the node's network again. A response with too many logs does not count as a failure.
 */
export class Node {
  calls = 0;
  requests = 0;
  readonly #options: NodeOptions;
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  #isChainChecked = false;
  readonly #meter: CallMeter;
  readonly #batch: BatchSize;
  readonly logRange: LogRange;
  #failures = 0;
  #availableAtMs = Number.NEGATIVE_INFINITY;
  #lastError: FailureKind | null = null;
  #lastOkAtMs: number | null = null;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#limit = new RateLimit(this.callsPerSecond, this.#clock);
    this.#meter = new CallMeter(this.#dateMs);
    this.#batch = new BatchSize(this.#dateMs);
    this.logRange = new LogRange(this.#dateMs);
  }

  get name(): string {
    return this.#options.name;
  }

  get id(): string {
    return this.#options.id ?? this.name;
  }

  /** The number of calls that the node takes in one request, as far as that is known. */
  get batchSize(): number {
    return this.#batch.size;
  }

  get callsPerSecond(): number {
    return this.#options.callsPerSecond ?? CALLS_PER_SECOND;
  }

  /** The time until the node may be asked again; 0 if it may be asked now. */
  get waitMs(): number {
    return Math.max(0, this.#availableAtMs - this.#clock.nowMs());
  }

  /** Rejects if no call succeeded. If only some calls failed, the outcomes contain their failures. */
  async send(calls: readonly Call<unknown>[], purpose: Purpose = 'other'): Promise<Outcomes> {
    for (const call of calls) call.purpose = purpose;
    try {
      const outcomes = await this.#sendOnNetwork(calls);
      this.#noteSuccess();
      return new Outcomes(outcomes);
    } catch (error) {
      const failure = failureFor(calls, error);
      this.noteFailure(failure);
      throw failure;
    }
  }

  /** Notes a failure of the node. The follower also calls this, for a response that contradicts itself. */
  noteFailure(failure: RpcFailure): void {
    this.#lastError = failure.kind;
    if (failure.kind === 'too_large') return;
    this.#failures++;
    this.#isChainChecked = false;
    const { random = Math.random } = this.#options;
    const fullMs = Math.min(MAX_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** Math.min(this.#failures - 1, 10));
    const backOffMs = (failure.kind === 'wrong_chain' ? MAX_BACK_OFF_MS : fullMs) * (0.5 + random() / 2);
    this.#availableAtMs = this.#clock.nowMs() + Math.max(backOffMs, failure.retryAfterMs ?? 0);
  }

  /**
   * Lets a node of the wrong chain be asked again at once, after the operator has resumed the network from another
   * block.
   */
  noteNewStart(): void {
    if (this.contact.state !== 'wrong_chain') return;
    this.#failures = 0;
    this.#availableAtMs = Number.NEGATIVE_INFINITY;
  }

  get contact(): Contact {
    const failure = this.#lastError === 'wrong_chain' ? 'wrong_chain' : 'failing';
    return {
      name: this.name,
      state: this.#failures > 0 ? failure : 'ok',
      lastError: this.#lastError,
      lastOkAtMs: this.#lastOkAtMs,
      limits: { batch: this.#batch.limit, logs: this.logRange.limit },
      calls: this.#meter.minutes,
    };
  }

  /** Applies the limits and calls that the last process knew. */
  restore({ batch, logs }: NodeLimits, calls: readonly CallMinute[]): void {
    this.#meter.restore(calls);
    if (batch !== null) this.#batch.restore(batch);
    if (logs !== null) this.logRange.restore(logs);
  }

  async #sendOnNetwork(calls: readonly Call<unknown>[]): Promise<Map<Call<unknown>, Outcome>> {
    const { identity } = this.#options;
    const check = this.#isChainChecked ? null : identity.call();
    const outcomes = await this.#sendAll(check === null ? calls : [check, ...calls]);
    if (check !== null) {
      if (!identity.isOf(new Outcomes(outcomes).value(check))) throw new RpcFailure('wrong_chain');
      this.#isChainChecked = true;
    }
    const failures = calls.flatMap((call) => failureIn(outcomes.get(call)));
    const [first] = failures;
    if (first === undefined || failures.length < calls.length) return outcomes;
    // A healthy node may reject calls for logs because they ask for too many.
    const isRefused = failures.every(({ kind }) => kind === 'rpc_error');
    if (isRefused && calls.every(({ method }) => method === 'eth_getLogs')) return outcomes;
    if (failures.every(this.#isRateLimit)) throw new RpcFailure('rate_limited');
    // A healthy node may reject a single call, such as a contract call that reverts.
    if (calls.length > 1) throw first;
    return outcomes;
  }

  /** Sends all calls in as few requests as the node takes. */
  async #sendAll(calls: readonly Call<unknown>[]): Promise<Map<Call<unknown>, Outcome>> {
    const outcomes = new Map<Call<unknown>, Outcome>();
    let left = calls;
    while (left.length > 0) {
      const part = left.slice(0, this.#batch.size);
      const found = await (part.length === 1 ? this.#sendAlone(part) : this.#sendBatch(part));
      for (const [call, outcome] of found) outcomes.set(call, outcome);
      left = left.filter((call) => !outcomes.has(call));
    }
    return outcomes;
  }

  /**
   * Sends a batch and returns at least one outcome. If calls stay unanswered, sends the first of them alone, to tell a
   * node that refuses batches from a node that fails.
   */
  async #sendBatch(part: readonly Call<unknown>[]): Promise<Map<Call<unknown>, Outcome>> {
    const outcomes = await this.#tryBatch(part);
    const withoutRoom = part.filter((call) => failureIn(outcomes.get(call)).some(isWithoutRoom));
    for (const call of withoutRoom) {
      for (const [each, outcome] of await this.#sendAlone([call])) outcomes.set(each, outcome);
    }
    const [first] = part.filter((call) => !outcomes.has(call));
    if (first === undefined) {
      this.#batch.noteSuccess(part.length);
      return outcomes;
    }
    const probe = await this.#sendAlone([first]);
    const [failure] = failureIn(probe.get(first));
    // A node that answers the single call, even with an error, rejects the batch. Garbage or a rate limit proves nothing about batches.
    if (failure !== undefined && (failure.kind !== 'rpc_error' || this.#isRateLimit(failure))) throw failure;
    if (failure === undefined) this.#batch.noteRefusal(part.length);
    return new Map([...outcomes, ...probe]);
  }

  /** Returns no outcomes if the node refuses the batch. */
  async #tryBatch(part: readonly Call<unknown>[]): Promise<Map<Call<unknown>, Outcome>> {
    try {
      const body = await this.#exchange(part);
      const refusal = errorForAll(body);
      if (refusal === null) return this.#read(part, body);
      if (this.#isRateLimit(refusal)) throw new RpcFailure('rate_limited');
      return new Map();
    } catch (error) {
      if (error instanceof RpcFailure && mayRefuseBatch(error)) return new Map();
      throw error;
    }
  }

  async #sendAlone(call: readonly Call<unknown>[]): Promise<Map<Call<unknown>, Outcome>> {
    const outcomes = this.#read(call, await this.#exchange(call));
    if (outcomes.size === 0) throw new RpcFailure('garbage');
    this.#batch.noteSuccess(1);
    return outcomes;
  }

  #read(calls: readonly Call<unknown>[], body: unknown): Map<Call<unknown>, Outcome> {
    const outcomes = outcomesOf(calls, body);
    for (const [{ method, purpose = 'other' }, outcome] of outcomes) {
      this.#options.onCall?.(this.name, method, purpose, 'failure' in outcome ? outcome.failure.kind : 'ok');
    }
    return outcomes;
  }

  async #exchange(calls: readonly Call<unknown>[]): Promise<unknown> {
    await this.#limit.take(calls.length);
    this.calls += calls.length;
    this.#meter.note(calls.length);
    this.requests++;
    try {
      const isShort = this.#options.hasOthers === true && !calls.some(mayBeLarge);
      const timeoutMs = isShort ? SMALL_CALL_MS : undefined;
      const body = await this.#options.exchange(payloadOf(calls), maxBytesOf(calls), timeoutMs);
      const refusal = this.#dialect.readBody?.(body) ?? null;
      if (refusal !== null) throw refusal;
      return body;
    } catch (error) {
      const failure = error instanceof RpcFailure ? error : new RpcFailure('unreachable');
      for (const { method, purpose = 'other' } of calls) {
        this.#options.onCall?.(this.name, method, purpose, failure.kind);
      }
      throw failure;
    }
  }

  #noteSuccess(): void {
    this.#failures = 0;
    this.#lastOkAtMs = this.#dateMs();
  }

  readonly #isRateLimit = (failure: RpcFailure): boolean => isRateLimit(failure, this.#dialect.rateLimitCodes);

  get #dialect(): Dialect {
    return this.#options.dialect ?? ETHEREUM_DIALECT;
  }

  readonly #dateMs = (): number => (this.#options.dateMs ?? Date.now)();
}

/** Maps an error to a failure. If all calls have small answers, a too large answer is garbage. */
function failureFor(calls: readonly Call<unknown>[], error: unknown): RpcFailure {
  if (!(error instanceof RpcFailure)) return new RpcFailure('garbage');
  return error.kind === 'too_large' && !calls.some(mayBeLarge) ? new RpcFailure('garbage') : error;
}

function failureIn(outcome: Outcome | undefined): RpcFailure[] {
  return outcome !== undefined && 'failure' in outcome ? [outcome.failure] : [];
}
