import type { FeedEntry } from '../../../src/contract/endpoints/feed.ts';
import { Ledger, type ReceivedRequest } from '../../../test/support/ledger.ts';
import { randomUpTo } from '../../harness/testbed.ts';
import { bodyOf, kindOf, placeOf } from './ordered-load.ts';

const FAILING_SHARE = 0.15;
const MOST_RESPONSE_MS = 5;

/** An event that arrived while one before it was not yet answered with a 2xx. */
type Overtaken = { readonly eventId: string; readonly by: string };

/** Answers some requests with 503, and checks every request against those that came before it for the same agreement. */
export class OrderedReceiver implements AsyncDisposable {
  readonly ledger: Ledger;
  readonly answered = new Set<string>();
  failed = 0;
  /** Requests of deliveries that were answered with a 2xx before. */
  repeated = 0;
  readonly #outOfOrder: string[] = [];
  readonly #overtaken: Overtaken[] = [];
  /** The highest index that has arrived, by agreement. */
  readonly #highest = new Map<string, number>();

  constructor() {
    this.ledger = new Ledger((request) => this.#reply(request));
  }

  async #reply({ eventId }: ReceivedRequest): Promise<Response> {
    if (this.answered.has(eventId)) this.repeated++;
    this.#check(eventId);
    await Bun.sleep(randomUpTo(MOST_RESPONSE_MS));
    if (Math.random() < FAILING_SHARE) {
      this.failed++;
      return new Response('try again', { status: 503 });
    }
    this.answered.add(eventId);
    return new Response('ok');
  }

  #check(eventId: string): void {
    const { agreement, index } = placeOf(eventId);
    const highest = this.#highest.get(agreement) ?? -1;
    if (index < highest) this.#outOfOrder.push(`${eventId} arrived after ${agreement}_${highest}`);
    for (let earlier = highest; earlier < index; earlier++) {
      const earlierId = `${agreement}_${earlier}`;
      if (earlier >= 0 && !this.answered.has(earlierId)) this.#overtaken.push({ eventId: earlierId, by: eventId });
    }
    this.#highest.set(agreement, Math.max(highest, index));
  }

  /**
   * What was overtaken has to be superseded, or to have been in flight when it was: then it arrived before the other. Of
   * the seven kinds only one is superseded here.
   */
  violations(entries: readonly FeedEntry[]): string[] {
    const statusOf = new Map(entries.map(({ eventId, status }) => [eventId, status]));
    const arrived = this.ledger.eventIds();
    const overtaken = this.#overtaken.filter(({ eventId }) => {
      const wasInFlight = arrived.has(eventId) && kindOf(eventId) === 'ScheduledAgreementCancel';
      return statusOf.get(eventId) !== 'superseded' && !wasInFlight;
    });
    const changed = this.ledger.requests.filter(
      ({ eventId, body }) => Buffer.from(body).toString() !== bodyOf(eventId),
    );
    return [
      ...summary(this.#outOfOrder, 'requests were out of order'),
      ...summary(
        overtaken.map(({ eventId, by }) => `${eventId} by ${by}`),
        'deliveries were overtaken',
      ),
      ...summary(
        changed.map(({ eventId }) => eventId),
        'requests had other bytes than were accepted',
      ),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ledger[Symbol.asyncDispose]();
  }
}

function summary(cases: readonly string[], what: string): string[] {
  return cases.length === 0 ? [] : [`${cases.length} ${what}, such as ${cases[0]}`];
}
