import { type Counter, type Family, type Histogram, Registry } from './registry.ts';

/** From half a millisecond, since most answers come within one, to the longest that a request may take. */
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const STORE_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300];
/** From the first attempt's few milliseconds to the end of the schedule, three days later. */
const RECEIPT_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 18_000, 86_400, 259_200,
];

export type StoreOperation = 'read' | 'snapshot' | 'transaction';

/**
 * Everything that the process counts, made once and handed to whoever counts. No label ever holds an entity, a URL or
 * a destination: who scrapes must not pay for how many of them there are.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly requests: Family<Counter>;
  readonly requestSeconds: Family<Histogram>;
  readonly listAnswers: Family<Counter>;
  readonly rateLimited: Family<Counter>;
  readonly eventsAccepted: Counter;
  readonly deliveries: Family<Counter>;
  readonly attempts: Family<Counter>;
  readonly attemptSeconds: Histogram;
  readonly receiptSeconds: Histogram;
  readonly storeSeconds: Family<Histogram>;
  readonly storeWaitSeconds: Family<Histogram>;
  readonly storeFailures: Counter;
  readonly statsDropped: Counter;

  constructor() {
    const { registry } = this;
    this.requests = registry.counters('paybell_http_requests_total', 'Requests answered.', [
      'method',
      'route',
      'status',
    ]);
    this.requestSeconds = registry.histograms(
      'paybell_http_request_duration_seconds',
      'Time from a request to its answer.',
      REQUEST_SECONDS,
      ['route'],
    );
    this.listAnswers = registry.counters(
      'paybell_list_answers_total',
      'Webhook lists answered: by a kept answer, from a view in memory, or from the store.',
      ['source'],
    );
    this.rateLimited = registry.counters('paybell_rate_limited_total', 'Requests and events refused by a rate limit.', [
      'limit',
    ]);
    this.eventsAccepted = registry.counter('paybell_events_accepted_total', 'Events accepted, repeats not counted.');
    this.deliveries = registry.counters('paybell_deliveries_total', 'Deliveries that came to an end.', ['outcome']);
    this.attempts = registry.counters('paybell_attempts_total', 'Posts made, by class of status or by error.', [
      'kind',
      'result',
    ]);
    this.attemptSeconds = registry.histogram('paybell_attempt_duration_seconds', 'Time of one post.', ATTEMPT_SECONDS);
    this.receiptSeconds = registry.histogram(
      'paybell_delivery_receipt_seconds',
      'Time from the acceptance of an event to its receipt.',
      RECEIPT_SECONDS,
    );
    this.storeSeconds = registry.histograms(
      'paybell_store_duration_seconds',
      'Time of one call of the store, with its wait.',
      STORE_SECONDS,
      ['operation'],
    );
    this.storeWaitSeconds = registry.histograms(
      'paybell_store_wait_seconds',
      'Time until a call of the store had its turn.',
      STORE_SECONDS,
      ['operation'],
    );
    this.storeFailures = registry.counter('paybell_store_unavailable_total', 'Calls that the store did not answer.');
    this.statsDropped = registry.counter(
      'paybell_stats_dropped_total',
      'Figures for /stats lost because the store did not take them in time.',
    );
  }
}
