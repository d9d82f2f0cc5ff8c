import { firstHexAt } from '../../domain/ids.ts';
import { readSubject } from '../../domain/supersession/rules.ts';
import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { Columns, subjectKey, text, uuid } from '../database/sql.ts';

/** Events by what they are about: a transfer or an agreement. */

/** A transfer has few events. If an agreement has more than these, its newest are found. */
const MAX_EVENTS = 100;

const SUBJECTS = [
  { field: 'transferId', column: 'transfer_key', index: 'events_by_transfer' },
  { field: 'agreementId', column: 'agreement_key', index: 'events_by_agreement' },
] as const;

const foundColumns = new Columns({ no: uuid('no'), body: text('body') });

/** The numbers of the newest events since then whose payload has the text as its `transferId` or its `agreementId`, oldest first. */
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
    const events = await foundColumns.all(
      queries,
      `select ${foundColumns.list} from events ${dialect.byIndex(index)}
       where entity_id = $1 and ${column} = $2 and no >= $3 order by no desc limit ${MAX_EVENTS}`,
      [entity, subjectKey(subject), from],
    );
    // Another text may have the same hash.
    for (const { no, body } of events) {
      const payload = JSON.parse(body) as Readonly<Record<string, unknown>>;
      if (readSubject(payload[field]) === subject) found.add(dialect.hexOf(no));
    }
  }
  return [...found].sort().slice(-MAX_EVENTS);
}
