import { firstHexAt } from '../../domain/ids.ts';
import { readSubject } from '../../domain/supersession/rules.ts';
import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { Columns, subjectKey, text, uuid } from '../database/sql.ts';

/** Finds events by their subject: a transfer or an agreement. */

/** A transfer has few events. If an agreement has more events than this, the newest are found. */
const MAX_EVENTS = 100;

const SUBJECTS = [
  { field: 'transferId', column: 'transfer_key', index: 'events_by_transfer' },
  { field: 'agreementId', column: 'agreement_key', index: 'events_by_agreement' },
] as const;

/**
 * SQLite writes whole pages, and hashes would spread the events of one commit over as many pages of each index. So the key of an
 * event begins with a *run*: about two thousand events that follow each other, whose hashes are in a few pages. A search looks
 * into each run of the entity. PostgreSQL writes changes instead of pages, so its keys are the hashes alone. Only rows that were
 * copied from SQLite have runs there.
 */
const EVENTS_OF_RUN = 2_048;
const HASH_BITS = 24;
/** Keys without a run are 32 bits with a sign, and lower than every key of a run. */
const FIRST_RUN = 2 ** 31 / 2 ** HASH_BITS;
/** A key is an integer that a JSON number can represent. */
const LAST_RUN = 2 ** (53 - HASH_BITS) - 1;
/** Runs are numbered by the second in which they begin, so that two processes rarely take the same number. */
const RUNS_SINCE_S = Date.UTC(2026, 0, 1) / 1000;

/** The runs that this process fills. */
export class SubjectRuns {
  #run = 0;
  #left = 0;

  constructor(private readonly size = EVENTS_OF_RUN) {}

  /** Returns the run of the next event, which is accepted at this time. */
  next(nowMs: number): number {
    if (this.#left === 0) {
      const second = Math.max(FIRST_RUN, Math.floor(nowMs / 1000) - RUNS_SINCE_S);
      this.#run = Math.min(LAST_RUN, Math.max(second, this.#run + 1));
      this.#left = this.size;
    }
    this.#left--;
    return this.#run;
  }
}

const runs = new SubjectRuns();

type Keys = { readonly transfer: number | null; readonly agreement: number | null };

/** The keys of a new event that was accepted at this time. */
export function keysOfEvent(
  { uuid }: Pick<Dialect, 'uuid'>,
  { transferId = null, agreementId = null }: { transferId?: string | null; agreementId?: string | null },
  nowMs: number,
  from: SubjectRuns = runs,
): Keys {
  const hasRun = uuid === 'blob' && (transferId !== null || agreementId !== null);
  const keyOf = hasRun ? keyIn(from.next(nowMs)) : subjectKey;
  return { transfer: keyOf(transferId), agreement: keyOf(agreementId) };
}

function keyIn(run: number): (subject: string | null) => number | null {
  return (subject) => (subject === null ? null : run * 2 ** HASH_BITS + hashInRun(subject));
}

function hashInRun(subject: string): number {
  return Bun.hash.crc32(subject) % 2 ** HASH_BITS;
}

const foundColumns = new Columns({ no: uuid('e.no'), body: text('e.body') });

/**
 * Reads from the newest run to the oldest. Each run is found by its newest key, so that it costs two look-ups of the index. The
 * names of the columns stand inside the union, because Citus loses names in front of it.
 */
const foundText = ({ byIndex, lookUp }: Dialect, column: string, index: string) => {
  const newest = (below: string) => `select max(r.${column}) >> ${HASH_BITS} from events r ${byIndex(index)}
    where r.entity_id = $1 and r.${column} >= ${FIRST_RUN * 2 ** HASH_BITS}${below}`;
  return `with recursive runs (run) as (
      ${newest('')}
      union all
      select (${newest(` and r.${column} < (runs.run << ${HASH_BITS})`)}) from runs where runs.run is not null),
    keys as (
      select cast($2 as bigint) as key union all
      select (run << ${HASH_BITS}) + cast($3 as bigint) as key from runs where run is not null),
    found (no) as (
      select f.no from keys cross join events f ${byIndex(index)}
      where f.entity_id = $1 and f.${column} = keys.key and f.no >= $4 order by f.no desc limit ${MAX_EVENTS})
    select ${foundColumns.list} from found ${lookUp('cross join', 'events', 'e', { entity_id: '$1', no: 'found.no' })}`;
};

/** The numbers of the newest events since `sinceS` whose payload has the text as its `transferId` or its `agreementId`, oldest first. */
export async function findEventsAbout(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  entity: SqlUuid,
  subject: string,
  sinceS = 0,
): Promise<string[]> {
  const found = new Set<string>();
  const from = dialect.bindUuid(firstHexAt(Math.max(0, sinceS) * 1000));
  for (const { field, column, index } of SUBJECTS) {
    const values = [entity, subjectKey(subject), hashInRun(subject), from];
    // Another text may have the same hash.
    for (const { no, body } of await foundColumns.all(queries, foundText(dialect, column, index), values)) {
      const payload = JSON.parse(body) as Readonly<Record<string, unknown>>;
      if (readSubject(payload[field]) === subject) found.add(dialect.hexOf(no));
    }
  }
  return [...found].sort().slice(-MAX_EVENTS);
}
