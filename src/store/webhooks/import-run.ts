import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Refusal } from '../../domain/webhook-import.ts';
import type { Database, Queries } from '../database/database.ts';
import { migrate } from '../database/migrate.ts';
import { openSqlite } from '../database/sqlite/open.ts';
import { readStoredEndpoints } from '../endpoints/transfer.ts';
import { amendChange, type Change, recordChange } from '../tenants/audit.ts';
import { type BatchOutcome, importBatch, type ReadLines, readStored } from './import.ts';

/** `endpoints` counts the endpoints that got settings. */
export type ImportCounts = { lines: number; created: number; existing: number; endpoints: number; refused: number };

/** Up to a thousand lines: the webhooks and endpoints that were read from them, and the unreadable lines. */
export type ImportBatch = ReadLines & { unreadable: readonly Refusal[] };

/** One import, batch by batch; a batch is committed when `add` resolves. */
export type ImportRun = {
  readonly counts: Readonly<ImportCounts>;
  /** Returns every rejected line of the batch, in order. */
  add(batch: ImportBatch): Promise<Refusal[]>;
  /** Call it after the last batch. */
  finish(): Promise<void>;
  /** Must be called in any case, even after an error. */
  close(): Promise<void>;
};

export type ImportSettings = { entityWebhookLimit: number; change: Change };

/** The audit has one row for the whole import, updated with every batch, so that it also has an interrupted import. */
export function startImport(db: Database, entityId: string, settings: ImportSettings): ImportRun {
  let counts = noLines();
  let auditId: string | null = null;
  const record = async (queries: Queries, after: ImportCounts): Promise<string> => {
    if (auditId === null) {
      const entry = { action: 'webhooks.imported', target: entityId, after } as const;
      return recordChange(queries, entityId, settings.change, entry);
    }
    await amendChange(queries, entityId, auditId, after);
    return auditId;
  };
  return {
    get counts() {
      return counts;
    },
    async add(batch) {
      let recordedAs = auditId;
      const audit = async (queries: Queries, outcome: BatchOutcome) => {
        recordedAs = await record(queries, addUp(counts, batch, outcome));
      };
      const outcome = await importWhatIsReadable(db, entityId, batch, { ...settings, audit });
      auditId = recordedAs;
      counts = addUp(counts, batch, outcome);
      return refusalsOf(batch, outcome);
    },
    async finish() {
      await db.transaction((queries) => record(queries, counts));
    },
    close: async () => undefined,
  };
}

/**
 * A dry run: the same import into a scratch store, which is deleted afterwards. It also counts the content of the real store, so
 * it has the results of a real import. It takes no lock on the real store, and needs no memory for the whole file.
 */
export async function rehearseImport(db: Database, entityId: string, settings: ImportSettings): Promise<ImportRun> {
  const folder = await mkdtemp(join(tmpdir(), 'paybell-dry-run-'));
  const scratch = await openScratch(join(folder, 'paybell.db'), entityId);
  let counts = noLines();
  return {
    get counts() {
      return counts;
    },
    async add(batch) {
      const urls = batch.endpoints.map(({ postUrl }) => postUrl);
      const alsoStored = await db.snapshot(async (queries) => ({
        ...(await readStored(queries, entityId, batch.webhooks)),
        endpoints: await readStoredEndpoints(queries, db.dialect, entityId, urls),
      }));
      const outcome = await importWhatIsReadable(scratch, entityId, batch, { ...settings, alsoStored });
      counts = addUp(counts, batch, outcome);
      return refusalsOf(batch, outcome);
    },
    finish: async () => undefined,
    async close() {
      await scratch.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function openScratch(file: string, entityId: string): Promise<Database> {
  const scratch = await openSqlite(file);
  await migrate(scratch);
  await scratch.transaction((queries) =>
    queries.run('insert into entities (id, name, created_at) values ($1, $2, $3)', [entityId, 'Dry run', 0]),
  );
  return scratch;
}

function importWhatIsReadable(
  db: Database,
  entityId: string,
  batch: ImportBatch,
  options: Parameters<typeof importBatch>[3],
): Promise<BatchOutcome> {
  if (batch.webhooks.length + batch.endpoints.length > 0) return importBatch(db, entityId, batch, options);
  return Promise.resolve({ created: 0, existing: 0, configured: 0, refused: [] });
}

function addUp(before: ImportCounts, batch: ImportBatch, outcome: BatchOutcome): ImportCounts {
  const { webhooks, endpoints, unreadable } = batch;
  return {
    lines: before.lines + webhooks.length + endpoints.length + unreadable.length,
    created: before.created + outcome.created,
    existing: before.existing + outcome.existing,
    endpoints: before.endpoints + outcome.configured,
    refused: before.refused + unreadable.length + outcome.refused.length,
  };
}

function refusalsOf({ unreadable }: ImportBatch, { refused }: BatchOutcome): Refusal[] {
  return [...unreadable, ...refused].sort((a, b) => a.line - b.line);
}

function noLines(): ImportCounts {
  return { lines: 0, created: 0, existing: 0, endpoints: 0, refused: 0 };
}
