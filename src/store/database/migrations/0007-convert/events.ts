import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../../database.ts';
import { chunks, valuesList } from '../../sql.ts';
import { Tally } from './counts.ts';

/** As the store makes keys today (`entityKey` and `eventIdKey`); kept apart, because a released migration never changes. */
export function entityHex(id: string): string {
  return /^ent_[0-9a-f]{32}$/.test(id) ? id.slice('ent_'.length) : hash128(id);
}

function hash128(text: string): string {
  return Bun.SHA256.hash(text, 'hex').slice(0, 32);
}

export const ROWS_PER_PAGE = 1_000;

type Place = { entity_id: string; created_at_ms: SqlInteger; id: string };
/** A page, and the parameters of `IN_PAGE`. */
type Page = { rows: Place[]; range: SqlValue[] };

const PLACE = '(d.entity_id, d.created_at_ms, d.id)';
export const IN_PAGE = `${PLACE} > ($1, $2, $3) and ${PLACE} <= ($4, $5, $6)`;

export async function* pagesOf(queries: Queries, table: 'old_events' | 'old_deliveries'): AsyncGenerator<Page> {
  let after: SqlValue[] = ['', 0, ''];
  for (;;) {
    const rows = await queries.all<Place>(
      `select d.entity_id, d.created_at_ms, d.id from ${table} d where ${PLACE} > ($1, $2, $3)
       order by d.entity_id, d.created_at_ms, d.id limit ${ROWS_PER_PAGE}`,
      after,
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    const until = [last.entity_id, Number(last.created_at_ms), last.id];
    yield { rows, range: [...after, ...until] };
    after = until;
  }
}

/** A row that finds no entity or no head would be lost without a word. */
export function requireAll(what: string, expected: number, copied: number): void {
  if (expected !== copied) throw new Error(`of ${expected} ${what} only ${copied} can be converted`);
}

/** In the order of acceptance, so that the new numbers sort as the events did. */
export class EventNumbers {
  #counter = 0;

  constructor(
    private readonly queries: Queries,
    private readonly dialect: Dialect,
  ) {}

  async addPage(events: readonly Place[]): Promise<void> {
    const { bindUuid } = this.dialect;
    for (const chunk of chunks(events)) {
      const numbered = chunk.map((row) => ({ ...row, no: bindUuid(this.#next(Number(row.created_at_ms))) }));
      await this.#insert(numbered);
      await this.queries.run(
        `insert into event_ids (entity_id, hash, no) values ${valuesList(chunk.length, 3)}`,
        numbered.flatMap(({ entity_id, id, no }): SqlValue[] => [
          bindUuid(entityHex(entity_id)),
          bindUuid(hash128(id)),
          no,
        ]),
      );
    }
  }

  /**
   * For deliveries whose event is gone. Their number shows as the same id, if that was one of Paybell's own; an id that
   * the sender had chosen went with the event.
   */
  async addMissing(range: readonly SqlValue[]): Promise<void> {
    const rows = await this.queries.all<Place>(
      `select d.entity_id, d.event_id as id, min(d.created_at_ms) as created_at_ms from old_deliveries d
       ${this.dialect.lookUp('left join', 'old_event_numbers', 'm', { entity_id: 'd.entity_id', id: 'd.event_id' })}
       where ${IN_PAGE} and m.no is null group by d.entity_id, d.event_id`,
      range,
    );
    for (const chunk of chunks(rows)) {
      await this.#insert(chunk.map((row) => ({ ...row, no: this.dialect.bindUuid(this.#numberOfMissing(row)) })));
    }
  }

  #numberOfMissing({ id, created_at_ms }: Place): string {
    return /^evt_[0-9a-f]{32}$/.test(id) ? id.slice('evt_'.length) : this.#next(Number(created_at_ms));
  }

  async #insert(numbered: readonly { entity_id: string; id: string; no: SqlUuid }[]): Promise<void> {
    await this.queries.run(
      `insert into old_event_numbers (entity_id, id, no) values ${valuesList(numbered.length, 3)}`,
      numbered.flatMap(({ entity_id, id, no }): SqlValue[] => [entity_id, id, no]),
    );
  }

  /** A UUIDv7 by form: the time, then a count in place of randomness, and sixteen zero bits. */
  #next(createdAtMs: number): string {
    const time = createdAtMs.toString(16).padStart(12, '0');
    return `${time}70008${(++this.#counter).toString(16).padStart(11, '0')}0000`;
  }
}

const EVENTS_BUCKET_MS = 3_600_000;

export async function convertEvents(queries: Queries, { lookUp }: Dialect, numbers: EventNumbers): Promise<void> {
  const from = `from old_events d ${lookUp('cross join', 'old_entities', 'k', { id: 'd.entity_id' })}`;
  const counts = new Tally(queries, 'event_counts', ['entity_id', 'network_id', 'event', 'bucket'], ['events']);
  for await (const { rows, range } of pagesOf(queries, 'old_events')) {
    await numbers.addPage(rows);
    const copied = await queries.run(
      `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, event_id, body)
       select k.key, m.no, d.network_id, d.created_at_ms, d.deliveries, d.event, d.id, d.body ${from}
       ${lookUp('cross join', 'old_event_numbers', 'm', { entity_id: 'd.entity_id', id: 'd.id' })} where ${IN_PAGE}`,
      range,
    );
    requireAll('events', rows.length, copied);
    await counts.add(
      await queries.all(
        `select k.key as entity_id, d.network_id, d.event, d.created_at_ms / ${EVENTS_BUCKET_MS} as bucket,
           count(*) as events
         ${from} where ${IN_PAGE} group by 1, 2, 3, 4`,
        range,
      ),
    );
  }
  await counts.write();
}
