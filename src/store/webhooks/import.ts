import { MAX_WEBHOOKS_PER_CELL } from '../../contract/webhooks/limits.ts';
import type { NetworkEvent } from '../../contract/webhooks.ts';
import { webhookFinalityOf, webhookFinalityText } from '../../domain/chain/finality-by-amount.ts';
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
} from '../../domain/webhook-import.ts';
import type { Database, Queries } from '../database/database.ts';
import { Columns, chunks, integer, nullable, readInteger, text, valuesList } from '../database/sql.ts';
import { repeatIfHeadChanged } from '../deliveries/head-locks.ts';
import { addEndpoints } from '../endpoints/lifecycle.ts';
import { importSettings, type NumberedEndpoint, type StoredEndpoints } from '../endpoints/transfer.ts';
import { newId } from '../new-id.ts';
import { webhookTable } from '../tables.ts';
import type { Change } from '../tenants/audit.ts';
import { type CellCount, raiseCounts } from './counts.ts';
import { setFilterHash, storeFilter } from './filters.ts';
import { countMatches } from './list.ts';
import { type EntityLock, insertWebhooks, lockEntity } from './register.ts';
import { assignFinality } from './stored-options.ts';

/** One transaction holds the entity lock for at most this many lines. */
export const LINES_PER_BATCH = 1_000;

const BATCH_DEADLINE_MS = 30_000;

export type ImportOptions = {
  entityWebhookLimit: number;
  change: Change;
  /** The content of the real database, during a dry run into a scratch database. */
  alsoStored?: Stored & { endpoints: StoredEndpoints };
  /** Runs in the transaction of the batch; a dry run writes no audit. */
  audit?: (queries: Queries, outcome: BatchOutcome) => Promise<void>;
};

export type BatchOutcome = { created: number; existing: number; configured: number; refused: Refusal[] };

/** Lines that were read: webhooks, and the settings of endpoints. */
export type ReadLines = { webhooks: readonly NumberedWebhook[]; endpoints: readonly NumberedEndpoint[] };

/** Registers every valid line of the batch, in one transaction that begins with the entity lock. */
export function importBatch(
  db: Database,
  entityId: string,
  { webhooks: batch, endpoints }: ReadLines,
  { entityWebhookLimit, change, alsoStored = { ...NOTHING_STORED, endpoints: new Map() }, audit }: ImportOptions,
): Promise<BatchOutcome> {
  const { nowS } = change;
  const work = async (queries: Queries) => {
    const newest = batch.reduce((latest, { dateCreated }) => Math.max(latest, dateCreated ?? nowS), 0);
    const lock = await lockEntity(queries, entityId, batch.length, newest);
    const stored = mergeStored(alsoStored, await readStored(queries, entityId, batch));
    const { accepted, existing, refused } = sortBatch(batch, stored, {
      entityWebhookLimit,
      cellLimit: MAX_WEBHOOKS_PER_CELL,
      nowS,
    });
    const created = await insertAccepted(queries, entityId, accepted, lock);
    const postUrls = accepted.map(({ postUrl }) => postUrl);
    await addEndpoints(queries, db.dialect, entityId, postUrls);
    const settings = await importSettings(queries, db.dialect, entityId, endpoints, alsoStored.endpoints);
    refused.push(...settings.refused);
    const outcome = { created, existing, configured: settings.configured, refused };
    await audit?.(queries, outcome);
    return outcome;
  };
  return repeatIfHeadChanged(() => db.transaction(work, { deadlineMs: BATCH_DEADLINE_MS }));
}

/** The ids, registrations and cells of the batch that the entity already has. */
export async function readStored(
  queries: Queries,
  entityId: string,
  batch: readonly NumberedWebhook[],
): Promise<Stored> {
  // The date of the newest webhook, and not the entity's `webhooks_dated_at`, which other writes raise too: a copy would get
  // later dates than the original.
  const newest = 'from webhooks where entity_id = $1 order by created_seq desc limit 1';
  return {
    newestDate: await readInteger(queries, 'created_at', newest, [entityId]),
    total: await countMatches(queries, entityId, {}),
    webhookIds: await findIds(queries, entityId, batch),
    registrations: await findRegistrations(queries, entityId, batch),
    cells: await findCells(queries, entityId, batch),
  };
}

const ID = webhookTable.pick(['webhookId']);

async function findIds(queries: Queries, entityId: string, batch: readonly NumberedWebhook[]): Promise<Set<string>> {
  const given = batch.flatMap(({ webhookId }) => webhookId ?? []);
  const rows = await ID.allIn(queries, 'from webhooks where entity_id = $1 and id in', [entityId], given);
  return new Set(rows.map(({ webhookId }) => webhookId));
}

const REGISTRATION = new Columns({
  networkId: integer('p.network_id'),
  event: text('p.event'),
  postUrl: text('p.post_url'),
});

/**
 * Uses `exists` and not a join: SQLite reverses the join and reads the whole entity for each hundred lines, 77 ms instead of 0.15
 * ms with 330,000 webhooks.
 */
async function findRegistrations(
  queries: Queries,
  entityId: string,
  batch: readonly NumberedWebhook[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const chunk of chunks(batch)) {
    const rows = await REGISTRATION.all(
      queries,
      `with wanted (network_id, event, post_url) as
         (values ${valuesList(chunk.length, 3, 1, ['bigint', 'text', 'text'])})
       select ${REGISTRATION.list} from wanted p where exists
         (select 1 from webhooks w where w.entity_id = $1
          and w.network_id = p.network_id and w.event = p.event and w.post_url = p.post_url)`,
      [entityId, ...chunk.flatMap(({ networkId, event, postUrl }) => [networkId, event, postUrl])],
    );
    for (const row of rows) found.add(registrationKey(row));
  }
  return found;
}

const CELL = new Columns({
  networkId: integer('p.network_id'),
  event: text('p.event'),
  webhooks: nullable(integer()),
});

async function findCells(
  queries: Queries,
  entityId: string,
  batch: readonly NumberedWebhook[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const chunk of chunks(countCells(batch))) {
    const rows = await CELL.all(
      queries,
      `with wanted (network_id, event) as (values ${valuesList(chunk.length, 2, 1, ['bigint', 'text'])})
       select ${CELL.list},
         (select c.webhooks from webhook_counts c
          where c.entity_id = $1 and c.network_id = p.network_id and c.event = p.event) as webhooks
       from wanted p`,
      [entityId, ...chunk.flatMap(({ networkId, event }) => [networkId, event])],
    );
    for (const cell of rows) found.set(cellKey(cell), cell.webhooks ?? 0);
  }
  return found;
}

async function insertAccepted(
  queries: Queries,
  entityId: string,
  accepted: readonly AcceptedWebhook[],
  { lastSeq }: EntityLock,
): Promise<number> {
  const firstSeq = lastSeq - accepted.length + 1;
  const rows = accepted.map((webhook, index) => ({
    ...webhook,
    webhookId: webhook.webhookId ?? newId('wh'),
    entityId,
    createdSeq: firstSeq + index,
  }));
  const inserted = await insertWebhooks(queries, rows);
  await raiseCounts(queries, entityId, countCells(inserted));
  await assignOptions(queries, entityId, rows);
  return inserted.length;
}

/** Stores each filter once, however many of the webhooks have it. */
async function assignOptions(
  queries: Queries,
  entityId: string,
  webhooks: readonly (AcceptedWebhook & { webhookId: string })[],
): Promise<void> {
  const byText = Map.groupBy(
    webhooks.filter(({ options }) => options?.filter != null),
    ({ options }) => JSON.stringify(options?.filter),
  );
  for (const alike of byText.values()) {
    const hash = await storeFilter(queries, entityId, alike[0]?.options?.filter ?? null);
    await setFilterHash(queries, entityId, alike, hash);
  }
  const byFinality = Map.groupBy(
    webhooks.filter(({ options }) => options?.finality != null),
    ({ options }) => webhookFinalityText(options?.finality ?? 'final'),
  );
  for (const [finality, alike] of byFinality) {
    await assignFinality(queries, entityId, alike, webhookFinalityOf(finality));
  }
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
