import { OPERATIONS } from './operations.ts';
import { allPages } from './pages.ts';
import type { CallOptions, Transport } from './transport.ts';
import type { AcceptedEvent, BatchResults, Event, EventList, EventListQuery } from './types.ts';

/** Whatever fields the event has. `eventId` makes it known again: without one, the client chooses one. */
export type NewEvent = { event: string; networkId: number; eventId?: string; [field: string]: unknown };

const JSON_TYPE = 'application/json';
const NDJSON_TYPE = 'application/x-ndjson';

/** What the service takes in one batch. */
const MAX_BATCH_EVENTS = 1_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Answered once the event and all its deliveries are stored. */
  publish(event: NewEvent, options?: CallOptions): Promise<AcceptedEvent> {
    const body = JSON.stringify(withId(event));
    return this.#transport.call(OPERATIONS.sendEvent, { text: { type: JSON_TYPE, body } }, options);
  }

  /**
   * The exact text, for whoever has it already: the same bytes go to every receiver. Without an `eventId` in it a lost
   * answer cannot be told from a lost request, and it is not tried again.
   */
  publishText(body: string, options?: CallOptions): Promise<AcceptedEvent> {
    const sent = { text: { type: JSON_TYPE, body }, once: !hasId(body) };
    return this.#transport.call(OPERATIONS.sendEvent, sent, options);
  }

  /** Any number, in as few requests as the service's limits allow; one result for each, in their order. */
  async publishBatch(events: Iterable<NewEvent>, options?: CallOptions): Promise<BatchResults> {
    const results: BatchResults['results'] = [];
    for (const body of batchesOf(events)) {
      const sent = { text: { type: NDJSON_TYPE, body } };
      results.push(...(await this.#transport.call<BatchResults>(OPERATIONS.sendEvents, sent, options)).results);
    }
    return { results };
  }

  list(query: EventListQuery = {}, options?: CallOptions): Promise<EventList> {
    return this.#transport.call(OPERATIONS.listEvents, { query }, options);
  }

  /** Every event that matches, page after page. */
  listAll(query: EventListQuery = {}, options?: CallOptions): AsyncGenerator<Event, void, undefined> {
    const read = async (asked: EventListQuery, given: CallOptions) => {
      const { totalResults, events } = await this.list(asked, given);
      return { totalResults, items: events };
    };
    return allPages(read, ({ eventId }) => eventId, query, options);
  }

  get(eventId: string, options?: CallOptions): Promise<Event> {
    return this.#transport.call(OPERATIONS.readEvent, { id: eventId }, options);
  }
}

/** Chosen before the first try, so that every try is the same event. */
function withId(event: NewEvent): NewEvent {
  return event.eventId === undefined ? { ...event, eventId: `evt_${randomHex(16)}` } : event;
}

/** Not `crypto.randomUUID`, which browsers keep from pages that came without TLS. */
function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
}

function hasId(body: string): boolean {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null && 'eventId' in parsed;
  } catch {
    return false;
  }
}

function* batchesOf(events: Iterable<NewEvent>): Generator<string, void, undefined> {
  const encoder = new TextEncoder();
  let lines: string[] = [];
  let bytes = 0;
  for (const event of events) {
    const line = JSON.stringify(withId(event));
    const size = encoder.encode(line).length + 1;
    if (lines.length > 0 && (lines.length === MAX_BATCH_EVENTS || bytes + size > MAX_BATCH_BYTES)) {
      yield lines.join('\n');
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += size;
  }
  if (lines.length > 0) yield lines.join('\n');
}
