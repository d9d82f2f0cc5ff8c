import { Admin } from './admin.ts';
import { Audit } from './audit.ts';
import { Deliveries } from './deliveries.ts';
import { Events } from './events.ts';
import { OPERATIONS } from './operations.ts';
import { Secrets } from './secrets.ts';
import { type CallOptions, type ClientOptions, Transport } from './transport.ts';
import type { Stats, StatsQuery } from './types.ts';
import { Webhooks } from './webhooks.ts';

/** A client of one service, for one entity: every operation, over plain `fetch`. */
export class Paybell {
  readonly webhooks: Webhooks;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly secrets: Secrets;
  readonly audit: Audit;
  readonly admin: Admin;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.#transport = transport;
    this.webhooks = new Webhooks(transport);
    this.events = new Events(transport);
    this.deliveries = new Deliveries(transport);
    this.secrets = new Secrets(transport);
    this.audit = new Audit(transport);
    this.admin = new Admin(transport);
  }

  /** How events and deliveries fare over time. */
  stats(query: StatsQuery = {}, options?: CallOptions): Promise<Stats> {
    return this.#transport.call(OPERATIONS.readStats, { query }, options);
  }

  /** The same client acting for another entity, which the operator's key may. */
  forEntity(entityId: string): Paybell {
    return new Paybell({ ...this.#transport.options, entityId });
  }
}
