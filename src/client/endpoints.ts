import type { z } from 'zod';
import type {
  endpointDetailSchema,
  endpointListQuerySchema,
  endpointListSchema,
  endpointSchema,
  endpointSecretListSchema,
  endpointUpdateSchema,
  oldestStuckSchema,
  shownCertificateSchema,
} from '../contract/endpoints/endpoint.ts';
import type {
  endpointWebhookListSchema,
  endpointWebhookQuerySchema,
  endpointWebhookSchema,
} from '../contract/endpoints/endpoint-webhooks.ts';
import { allPages, type Feed, type FeedEntry, type FeedOptions, type FeedQuery, followFeed } from './pages.ts';
import type { Body, Query } from './schema-types.ts';
import type { Rotation } from './secrets.ts';
import type { CallOptions, Transport } from './transport.ts';

export type Endpoint = z.output<typeof endpointSchema>;
export type EndpointDetail = z.output<typeof endpointDetailSchema>;
export type OldestStuck = z.output<typeof oldestStuckSchema>;
export type ShownCertificate = z.output<typeof shownCertificateSchema>;
export type EndpointList = z.output<typeof endpointListSchema>;
export type EndpointListQuery = Query<typeof endpointListQuerySchema>;
export type EndpointWebhook = z.output<typeof endpointWebhookSchema>;
export type EndpointWebhookList = z.output<typeof endpointWebhookListSchema>;
export type EndpointWebhookQuery = Query<typeof endpointWebhookQuerySchema>;
export type EndpointUpdate = Body<typeof endpointUpdateSchema>;
export type EndpointSecretList = z.output<typeof endpointSecretListSchema>;

const ONE = '/endpoints/{endpointId}';

/** A URL of the entity with all webhooks that have it. */
export class Endpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: EndpointListQuery = {}, options?: CallOptions): Promise<EndpointList> {
    return this.#transport.call({ method: 'GET', path: '/endpoints', query }, options);
  }

  /** Every matching endpoint, page after page: `for await (const endpoint of client.endpoints.listAll())`. */
  listAll(query: EndpointListQuery = {}, options?: CallOptions): AsyncGenerator<Endpoint, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'endpoints', 'endpointId', query, options);
  }

  /** Includes the agreement that has waited longest, if the endpoint has ordering. */
  get(endpointId: string, options?: CallOptions): Promise<EndpointDetail> {
    return this.#transport.call({ method: 'GET', path: ONE, id: endpointId }, options);
  }

  /** The webhooks that have its URL, with their state. */
  webhooks(endpointId: string, query: EndpointWebhookQuery = {}, options?: CallOptions): Promise<EndpointWebhookList> {
    return this.#transport.call({ method: 'GET', path: `${ONE}/webhooks`, id: endpointId, query }, options);
  }

  /** Changes the given fields. In `headers`, null removes a header, and headers that are not mentioned stay. */
  update(endpointId: string, update: EndpointUpdate, options?: CallOptions): Promise<Endpoint> {
    return this.#transport.call({ method: 'PATCH', path: ONE, id: endpointId, json: update }, options);
  }

  /** Holds the deliveries of all its webhooks until it is resumed. */
  pause(endpointId: string, options?: CallOptions): Promise<Endpoint> {
    return this.update(endpointId, { paused: true }, options);
  }

  /** Ends a pause, and sends the waiting deliveries. Webhooks that Paybell has suspended stay suspended. */
  resume(endpointId: string, options?: CallOptions): Promise<Endpoint> {
    return this.update(endpointId, { paused: false }, options);
  }

  /** The endpoint's own signing secrets. Empty while the entity's secrets sign for it. */
  secrets(endpointId: string, options?: CallOptions): Promise<EndpointSecretList> {
    return this.#transport.call({ method: 'GET', path: `${ONE}/secret`, id: endpointId }, options);
  }

  /**
   * Creates a new secret for this endpoint. The previous secrets keep signing too for `overlapHours`. Not repeated
   * after a lost response: list first, to see whether the new secret exists.
   */
  rotateSecret(endpointId: string, rotation: Rotation = {}, options?: CallOptions): Promise<EndpointSecretList> {
    const path = `${ONE}/secret/rotate`;
    const request = { method: 'POST', path, id: endpointId, json: rotation, isIdempotent: false } as const;
    return this.#transport.call(request, options);
  }

  /** The deliveries with sequence numbers above `after`. With `wait`, the response comes when there is one. */
  readFeed(endpointId: string, query: FeedQuery = {}, options?: CallOptions): Promise<Feed> {
    return this.#transport.call({ method: 'GET', path: `${ONE}/feed`, id: endpointId, query }, options);
  }

  /**
   * Every delivery of the endpoint in the order of its sequence number, including future ones: `for await (const entry
   * of client.endpoints.feed(id, { after }))`. An error leaves nothing out: begin again after the last entry that you
   * have.
   */
  feed(endpointId: string, feed: FeedOptions = {}, options?: CallOptions): AsyncGenerator<FeedEntry, void, undefined> {
    return followFeed((query, readOptions) => this.readFeed(endpointId, query, readOptions), feed, options);
  }
}
