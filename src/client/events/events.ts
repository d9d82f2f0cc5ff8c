import type { z } from 'zod';
import type { eventListQuerySchema, eventListSchema, eventSchema } from '../../contract/events/accepted-event.ts';
import type { acceptedSchema, batchResultsSchema } from '../../contract/events.ts';
import { allPages } from '../pages.ts';
import type { Query } from '../schema-types.ts';
import type { CallOptions, Transport } from '../transport.ts';
import { NDJSON_TYPE, toBatches } from './batches.ts';

/** An event with any fields. `eventId` identifies it across attempts: the client chooses one where none is given. */
export type NewEvent = { event: string; networkId: number; eventId?: string; [field: string]: unknown };
export type AcceptedEvent = z.output<typeof acceptedSchema>;
export type BatchResults = z.output<typeof batchResultsSchema>;
export type Event = z.output<typeof eventSchema>;
export type EventList = z.output<typeof eventListSchema>;
export type EventListQuery = Query<typeof eventListQuerySchema>;

const JSON_TYPE = 'application/json';

export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns once the event and all its deliveries are stored, or a task that makes the rest of more than 1,000. */
  publish(event: NewEvent, options?: CallOptions): Promise<AcceptedEvent> {
    const text = { type: JSON_TYPE, body: JSON.stringify(withId(event)) };
    return this.#transport.call({ method: 'POST', path: '/events', text }, options);
  }

  /**
   * Publishes an event that is JSON text already; every receiver gets the same bytes. It is not repeated after a lost
   * response unless it has an `eventId`, because the service could not tell a repetition from a new event.
   */
  publishText(body: string, options?: CallOptions): Promise<AcceptedEvent> {
    const text = { type: JSON_TYPE, body };
    return this.#transport.call({ method: 'POST', path: '/events', text, isIdempotent: hasId(body) }, options);
  }

  /** Publishes any number of events, in batches of the size that the service allows; one result each, in their order. */
  async publishBatch(events: Iterable<NewEvent>, options?: CallOptions): Promise<BatchResults> {
    const results: BatchResults['results'] = [];
    for (const body of toBatches([...events].map(withId))) {
      const request = { method: 'POST', path: '/events/batch', text: { type: NDJSON_TYPE, body } } as const;
      results.push(...(await this.#transport.call<BatchResults>(request, options)).results);
    }
    return { results };
  }

  list(query: EventListQuery = {}, options?: CallOptions): Promise<EventList> {
    return this.#transport.call({ method: 'GET', path: '/events', query }, options);
  }

  /** Every matching event, page after page. */
  listAll(query: EventListQuery = {}, options?: CallOptions): AsyncGenerator<Event, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'events', 'eventId', query, options);
  }

  get(eventId: string, options?: CallOptions): Promise<Event> {
    return this.#transport.call({ method: 'GET', path: '/events/{eventId}', id: eventId }, options);
  }
}

/** Chosen before the first attempt, so that every attempt publishes the same event. */
function withId(event: NewEvent): NewEvent {
  return event.eventId === undefined ? { ...event, eventId: `evt_${randomHex(16)}` } : event;
}

/** Browsers offer `crypto.randomUUID` only to pages loaded over TLS. */
function randomHex(byteCount: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(byteCount));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function hasId(body: string): boolean {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null && 'eventId' in parsed;
  } catch {
    return false;
  }
}
