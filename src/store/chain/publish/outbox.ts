import type { Queries } from '../../database/database.ts';
import { chunks } from '../../database/sql.ts';
import { factEventTable } from '../tables.ts';

/** The events of one step of a network, which wait in `fact_events` until they are accepted. */

const NEW_EVENT = factEventTable.insertion(factEventTable.namesBut('eventNo'));

/** The fact or the invoice that an event is about. */
export type Subject = { readonly entityId: string; readonly factId: string; readonly revision: number };

export type OutboxEvent = {
  readonly fact: Subject;
  readonly event: string;
  /** The finality of the event. A retraction has the kind and the finality of the event that it retracts. */
  readonly finality: string;
  /** Null for a held event, which has the bytes that its sender sent. */
  readonly payload: Record<string, unknown> | null;
};

/** Numbers the events in their order. An event that was made before is not made again. */
export class Outbox {
  readonly events: OutboxEvent[] = [];

  constructor(
    readonly networkId: number,
    private readonly firstNo: number,
  ) {}

  get nextNo(): number {
    return this.firstNo + this.events.length;
  }

  add(event: OutboxEvent): OutboxEvent {
    this.events.push(event);
    return event;
  }

  async write(queries: Queries): Promise<void> {
    const rows = this.events.map(({ fact: { entityId, factId, revision }, event, finality, payload }, index) => ({
      ...{ entityId, factId, revision, event, finality },
      networkId: this.networkId,
      no: this.firstNo + index,
      body: payload === null ? null : JSON.stringify(payload),
    }));
    for (const chunk of chunks(rows)) {
      const sql = `${NEW_EVENT.text(chunk.length)} on conflict (entity_id, fact_id, revision, event, finality) do nothing`;
      await queries.send(sql, NEW_EVENT.parameters(chunk));
    }
  }
}
