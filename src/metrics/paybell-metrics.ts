import { Registry } from './registry.ts';

/** From half a millisecond, since most responses take less than one, to the time limit of a request. */
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const STORE_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300];
/** From a few milliseconds for a first attempt to three days for the last retry of the default schedule. */
const LATENCY_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 18_000, 86_400, 259_200,
];

export type StoreOperation = 'read' | 'snapshot' | 'transaction';

/** The metrics of the process. No label holds an entity, a URL or a destination, so that their number stays bounded. */
export class Metrics {
  readonly registry = new Registry();
  readonly requests = this.registry.counters('paybell_http_requests_total', 'HTTP requests served.', [
    'method',
    'route',
    'status',
  ]);
  readonly requestSeconds = this.registry.histograms(
    'paybell_http_request_duration_seconds',
    'Time from a request to its response.',
    REQUEST_SECONDS,
    ['route'],
  );
  readonly listResponses = this.registry.counters(
    'paybell_list_answers_total',
    'Webhook list requests, by where the response came from: a stored response, a snapshot in memory, or the store.',
    ['source'],
  );
  readonly rateLimited = this.registry.counters(
    'paybell_rate_limited_total',
    'Requests and events rejected by a rate limit.',
    ['limit'],
  );
  readonly eventsAccepted = this.registry.counter(
    'paybell_events_accepted_total',
    'Events accepted, without duplicates.',
  );
  readonly deliveries = this.registry.counters('paybell_deliveries_total', 'Deliveries completed, by outcome.', [
    'outcome',
  ]);
  readonly attempts = this.registry.counters(
    'paybell_attempts_total',
    'Attempts made, by kind and by status class or error.',
    ['kind', 'result'],
  );
  readonly attemptSeconds = this.registry.histogram(
    'paybell_attempt_duration_seconds',
    'Duration of an attempt.',
    ATTEMPT_SECONDS,
  );
  readonly localShortages = this.registry.counters(
    'paybell_local_shortages_total',
    'Attempts that were not made because this machine had no free open files, ports or memory.',
    ['resource'],
  );
  readonly audited = this.registry.counters(
    'paybell_audited_total',
    'Repairs by the auditor: heads whose hints hid a due delivery, deliveries without a turn, and those that waited by a clock set back. Healthy: 0.',
    ['found'],
  );
  readonly latencySeconds = this.registry.histogram(
    'paybell_delivery_receipt_seconds',
    'Delivery latency: from the acceptance of an event to the successful response of the receiver.',
    LATENCY_SECONDS,
  );
  readonly storeSeconds = this.registry.histograms(
    'paybell_store_duration_seconds',
    'Duration of a store call, including its wait.',
    STORE_SECONDS,
    ['operation'],
  );
  readonly storeWaitSeconds = this.registry.histograms(
    'paybell_store_wait_seconds',
    'Time that a store call waited before it started.',
    STORE_SECONDS,
    ['operation'],
  );
  readonly storeFailures = this.registry.counter(
    'paybell_store_unavailable_total',
    'Store calls that failed because the store was unavailable or overloaded.',
  );
  readonly statsDropped = this.registry.counter(
    'paybell_stats_dropped_total',
    'Counts for /stats that were dropped because the store could not be written to.',
  );
}
