import {
  type AcceptedWebhook,
  cellKey,
  mergeStored,
  NOTHING_STORED,
  type NumberedWebhook,
  type Refusal,
  registrationKey,
  type Stored,
  sortBatch,
} from '../../contract/webhook-import.ts';
import type { NetworkEvent } from '../../contract/webhooks.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { chunks, valuesList } from '../database/sql.ts';
import { newId } from '../new-id.ts';
import type { Change } from '../tenants/audit.ts';
import { type CellCount, raiseCounts } from './counts.ts';
import { countMatches } from './list.ts';
import { insertWebhooks, lockEntity, type Turn } from './register.ts';

/** One transaction holds the entity's lock for no more lines than this. */
export const LINES_PER_BATCH = 1_000;

const BATCH_DEADLINE_MS = 30_000;

export type ImportOptions = {
  entityWebhookLimit: number;
  change: Change;
  /** What a rehearsal has to see beneath its own store. */
  beneath?: Stored;
  /** Written in the transaction of the batch itself; a rehearsal leaves none. */
  audit?: (queries: Queries, outcome: BatchOutcome) => Promise<void>;
};

export type BatchOutcome = { created: number; existing: number; refused: Refusal[] };

/** All lines of the batch that can be registered, in one transaction that begins with the entity's lock. */
export function importBatch(
  db: Database,
  entityId: string,
  batch: readonly NumberedWebhook[],
  { entityWebhookLimit, change, beneath = NOTHING_STORED, audit }: ImportOptions,
): Promise<BatchOutcome> {
  const { nowS } = change;
  return db.transaction(
    async (queries) => {
      const newest = Math.max(...batch.map(({ dateCreated }) => dateCreated ?? nowS));
      const turn = await lockEntity(queries, entityId, batch.length, newest);
      const stored = mergeStored(beneath, await readStored(queries, entityId, batch));
      const { accepted, existing, refused } = sortBatch(batch, stored, { entityWebhookLimit, nowS });
      const created = await insertAccepted(queries, entityId, accepted, turn);
      const outcome = { created, existing, refused };
      await audit?.(queries, outcome);
      return outcome;
    },
    { deadlineMs: BATCH_DEADLINE_MS },
  );
}

/** What the entity holds of all that the batch names. */
export async function readStored(
  queries: Queries,
  entityId: string,
  batch: readonly NumberedWebhook[],
): Promise<Stored> {
  // The newest webhook's own date: the entity's `webhooks_dated_at` is raised by other writes too, and would spoil
  // the dates of a copy for nothing.
  const newest = await queries.get<{ created_at: SqlInteger }>(
    'select created_at from webhooks where entity_id = $1 order by created_seq desc limit 1',
    [entityId],
  );
  return {
    newestDate: Number(newest?.created_at ?? 0),
    total: await countMatches(queries, entityId, {}),
    webhookIds: await findIds(queries, entityId, batch),
    registrations: await findRegistrations(queries, entityId, batch),
    cells: await findCells(queries, entityId, batch),
  };
}

async function findIds(queries: Queries, entityId: string, batch: readonly NumberedWebhook[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const chunk of chunks(batch.flatMap(({ webhookId }) => webhookId ?? []))) {
    const rows = await queries.all<{ id: string }>(
      `select id from webhooks where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)}`,
      [entityId, ...chunk],
    );
    for (const { id } of rows) found.add(id);
  }
  return found;
}

/**
 * `exists` and not a join: SQLite turns the join round and reads the whole entity for each hundred lines, 77 ms instead
 * of 0.15 with 330,000 webhooks.
 */
async function findRegistrations(
  queries: Queries,
  entityId: string,
  batch: readonly NumberedWebhook[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const chunk of chunks(batch)) {
    const rows = await queries.all<{ network_id: SqlInteger; event: string; post_url: string }>(
      `with wanted (network_id, event, post_url) as
         (values ${valuesList(chunk.length, 3, 1, ['bigint', 'text', 'text'])})
       select p.network_id, p.event, p.post_url from wanted p where exists
         (select 1 from webhooks w where w.entity_id = $1
          and w.network_id = p.network_id and w.event = p.event and w.post_url = p.post_url)`,
      [entityId, ...chunk.flatMap(({ networkId, event, postUrl }) => [networkId, event, postUrl])],
    );
    for (const row of rows) {
      found.add(registrationKey({ networkId: Number(row.network_id), event: row.event, postUrl: row.post_url }));
    }
  }
  return found;
}

async function findCells(
  queries: Queries,
  entityId: string,
  batch: readonly NumberedWebhook[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const chunk of chunks(countCells(batch))) {
    const rows = await queries.all<{ network_id: SqlInteger; event: string; webhooks: SqlInteger | null }>(
      `with wanted (network_id, event) as (values ${valuesList(chunk.length, 2, 1, ['bigint', 'text'])})
       select p.network_id, p.event,
         (select c.webhooks from webhook_counts c
          where c.entity_id = $1 and c.network_id = p.network_id and c.event = p.event) as webhooks
       from wanted p`,
      [entityId, ...chunk.flatMap(({ networkId, event }) => [networkId, event])],
    );
    for (const { network_id, event, webhooks } of rows) {
      found.set(cellKey({ networkId: Number(network_id), event }), Number(webhooks ?? 0));
    }
  }
  return found;
}

async function insertAccepted(
  queries: Queries,
  entityId: string,
  accepted: readonly AcceptedWebhook[],
  { lastSeq }: Turn,
): Promise<number> {
  const firstSeq = lastSeq - accepted.length + 1;
  const rows = accepted.map(({ webhookId = newId('wh'), networkId, event, postUrl, dateCreated }, index) => ({
    webhookId,
    networkId,
    event,
    postUrl,
    dateCreated,
    createdSeq: firstSeq + index,
  }));
  const inserted = await insertWebhooks(queries, entityId, rows);
  await raiseCounts(queries, entityId, countCells(inserted));
  return inserted.length;
}

function countCells(webhooks: readonly NetworkEvent[]): CellCount[] {
  const cells = new Map<string, CellCount>();
  for (const { networkId, event } of webhooks) {
    const key = cellKey({ networkId, event });
    const cell = cells.get(key) ?? { networkId, event, webhooks: 0 };
    cell.webhooks++;
    cells.set(key, cell);
  }
  return [...cells.values()];
}
