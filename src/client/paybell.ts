import type { z } from 'zod';
import type { statsQuerySchema, statsSchema } from '../contract/stats.ts';
import type { callerSchema } from '../contract/tenants/entity.ts';
import { Admin } from './admin.ts';
import { Audit } from './audit.ts';
import { Chains } from './chain/chains.ts';
import { Facts } from './chain/facts.ts';
import { Invoices } from './chain/invoices.ts';
import { Payments } from './chain/payments.ts';
import { Sources } from './chain/sources.ts';
import { Deliveries } from './deliveries.ts';
import { Endpoints } from './endpoints.ts';
import { Events } from './events/events.ts';
import {
  type BookComparison,
  type BookEntry,
  type ReconciliationQuery,
  Reconciliations,
} from './events/reconciliations.ts';
import { ListenSessions } from './listen/listen-sessions.ts';
import type { Query } from './schema-types.ts';
import { Secrets } from './secrets.ts';
import { Keys } from './tenants/keys.ts';
import { type CallOptions, type ClientOptions, Transport } from './transport.ts';
import { Webhooks } from './webhooks.ts';

export type CallerInfo = z.output<typeof callerSchema>;
export type Stats = z.output<typeof statsSchema>;
export type StatsQuery = Query<typeof statsQuerySchema>;

/** A client of one service, for one entity. It has a method for every operation and needs nothing but `fetch`. */
export class Paybell {
  readonly webhooks: Webhooks;
  readonly endpoints: Endpoints;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly sources: Sources;
  readonly payments: Payments;
  readonly invoices: Invoices;
  readonly facts: Facts;
  readonly chains: Chains;
  readonly reconciliations: Reconciliations;
  readonly listenSessions: ListenSessions;
  readonly secrets: Secrets;
  readonly keys: Keys;
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
    this.payments = new Payments(transport);
    this.invoices = new Invoices(transport);
    this.facts = new Facts(transport);
    this.chains = new Chains(transport);
    this.reconciliations = new Reconciliations(transport);
    this.listenSessions = new ListenSessions(transport);
    this.secrets = new Secrets(transport);
    this.keys = new Keys(transport);
    this.audit = new Audit(transport);
    this.admin = new Admin(transport);
  }

  /** Counts of events, deliveries and attempts over time, and delivery latency. */
  stats(query: StatsQuery = {}, options?: CallOptions): Promise<Stats> {
    return this.#transport.call({ method: 'GET', path: '/stats', query }, options);
  }

  /** Names each event in which your own list differs from Paybell's deliveries of a day. */
  reconcile(query: ReconciliationQuery, yours: Iterable<BookEntry>, options?: CallOptions): Promise<BookComparison> {
    return this.reconciliations.compare(query, yours, options);
  }

  /** The entity that the key belongs to, and what the key may do. Every valid key may ask. */
  entity(options?: CallOptions): Promise<CallerInfo> {
    return this.#transport.call({ method: 'GET', path: '/entity' }, options);
  }

  /** A client with the same settings for another entity; it takes the operator's key. */
  forEntity(entityId: string): Paybell {
    return new Paybell({ ...this.#transport.options, entityId });
  }
}
