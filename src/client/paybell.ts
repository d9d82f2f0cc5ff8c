import type { z } from 'zod';
import type { statsQuerySchema, statsSchema } from '../contract/stats.ts';
import { Admin } from './admin.ts';
import { Audit } from './audit.ts';
import { Chains } from './chain/chains.ts';
import { Facts } from './chain/facts.ts';
import { Sources } from './chain/sources.ts';
import { Deliveries } from './deliveries.ts';
import { Endpoints } from './endpoints.ts';
import { Events } from './events.ts';
import { ListenSessions } from './listen/listen-sessions.ts';
import type { Query } from './schema-types.ts';
import { Secrets } from './secrets.ts';
import { type CallOptions, type ClientOptions, Transport } from './transport.ts';
import { Webhooks } from './webhooks.ts';

export type Stats = z.output<typeof statsSchema>;
export type StatsQuery = Query<typeof statsQuerySchema>;

/** A client of one service, for one entity. It has a method for every operation and needs nothing but `fetch`. */
export class Paybell {
  readonly webhooks: Webhooks;
  readonly endpoints: Endpoints;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly sources: Sources;
  readonly facts: Facts;
  readonly chains: Chains;
  readonly listenSessions: ListenSessions;
  readonly secrets: Secrets;
  readonly audit: Audit;
  readonly admin: Admin;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.#transport = transport;
    this.webhooks = new Webhooks(transport);
    this.endpoints = new Endpoints(transport);
    this.events = new Events(transport);
    this.deliveries = new Deliveries(transport);
    this.sources = new Sources(transport);
    this.facts = new Facts(transport);
    this.chains = new Chains(transport);
    this.listenSessions = new ListenSessions(transport);
    this.secrets = new Secrets(transport);
    this.audit = new Audit(transport);
    this.admin = new Admin(transport);
  }

  /** Counts of events, deliveries and attempts over time, and delivery latency. */
  stats(query: StatsQuery = {}, options?: CallOptions): Promise<Stats> {
    return this.#transport.call({ method: 'GET', path: '/stats', query }, options);
  }

  /** A client with the same settings for another entity; it takes the operator's key. */
  forEntity(entityId: string): Paybell {
    return new Paybell({ ...this.#transport.options, entityId });
  }
}
