import type { Database, Queries } from '../database/database.ts';
import { MIGRATIONS } from '../database/migrate.ts';
import { SecretBox, SecretKeyError } from '../tenants/secret-box.ts';
import { checkSecretsOpen } from '../tenants/signing-keys.ts';
import type { Key } from './row-text.ts';
import type { BatchLimits, CopySource } from './source.ts';
import type { CopiedTable } from './tables.ts';
import { CopyTarget, type Progress } from './target.ts';
import { CopyError } from './unfinished.ts';

const LIMITS: BatchLimits = { rows: 2_000, bytes: 4 * 2 ** 20 };

export type CopiedRows = { readonly table: string; readonly rows: number; readonly checksum: string };
export type Copied = { readonly resumed: boolean; readonly rows: number; readonly tables: readonly CopiedRows[] };

export type CopyOptions = {
  /** Must open the secrets of both databases. Null if there is no key, because no secret was stored yet. */
  readonly key: Uint8Array | null;
  readonly limits?: BatchLimits;
  readonly onProgress?: (step: 'copied' | 'verified', table: string, rows: number, total: number) => void;
};

/** Copies every table, or continues a copy that stopped, and compares both databases at the end. */
export async function copyStore(source: CopySource, db: Database, options: CopyOptions): Promise<Copied> {
  await requireKey(source.queries, options.key);
  const counts = source.countRows();
  const copy = new StoreCopy(source, new CopyTarget(db), sumOf(counts), options);
  const resumed = await copy.begin(fingerprint(source.tables, counts));
  await copy.copyRows();
  const tables = await copy.verify();
  await requireKey(db, options.key);
  await copy.finish();
  return { resumed, rows: sumOf(counts), tables };
}

class StoreCopy {
  readonly #limits: BatchLimits;
  #progress: Progress = { table: 0, position: null, copied: 0 };

  constructor(
    private readonly source: CopySource,
    private readonly target: CopyTarget,
    private readonly total: number,
    private readonly options: CopyOptions,
  ) {
    this.#limits = options.limits ?? LIMITS;
  }

  /** Returns whether it continues an earlier copy. */
  async begin(source: string): Promise<boolean> {
    const found = await this.target.begin(this.source.tables, source);
    if (found !== null) this.#progress = found;
    return found !== null;
  }

  async copyRows(): Promise<void> {
    for (;;) {
      const { table: index, position, copied } = this.#progress;
      const table = this.source.tables[index];
      if (table === undefined) return;
      const batch = this.source.readBatch(table, position, this.#limits);
      const isLast = batch.lastKey === null;
      this.#progress = { table: isLast ? index + 1 : index, position: batch.lastKey, copied: copied + batch.rows };
      await this.target.write(table, batch, this.#progress);
      this.options.onProgress?.('copied', table.name, this.#progress.copied, this.total);
    }
  }

  async verify(): Promise<CopiedRows[]> {
    const verified: CopiedRows[] = [];
    let before = 0;
    for (const table of this.source.tables) {
      const { rows, checksum } = await this.#verifyTable(table, before);
      verified.push({ table: table.name, rows, checksum: BigInt.asUintN(64, checksum).toString(16).padStart(16, '0') });
      before += rows;
    }
    return verified;
  }

  finish(): Promise<void> {
    return this.target.finish(this.source.tables);
  }

  /** Compares range by range. The ranges cover all possible keys, and so every row that only the target has. */
  async #verifyTable(table: CopiedTable, before: number): Promise<{ rows: number; checksum: bigint }> {
    let [rows, checksum] = [0, 0n];
    let after: Key | null = null;
    do {
      const expected = this.source.sumBatch(table, after, this.#limits);
      const found = await this.target.sum(table, expected.range);
      if (found.rows !== expected.rows || found.checksum !== expected.checksum) {
        throw new CopyError(
          `the table ${table.name} differs: of ${expected.rows} rows in a range of the source, the target has ${found.rows}` +
            `${found.rows === expected.rows ? ' with other values' : ''}. The target stays marked as unfinished: drop its ` +
            'database, create it again, and copy again',
        );
      }
      rows += expected.rows;
      checksum += expected.checksum;
      after = expected.range.upTo;
      this.options.onProgress?.('verified', table.name, before + rows, this.total);
    } while (after !== null);
    return { rows, checksum };
  }
}

async function requireKey(queries: Pick<Queries, 'get'>, key: Uint8Array | null): Promise<void> {
  if (key !== null) return checkSecretsOpen(queries, new SecretBox(key));
  if ((await queries.get('select 1 as found from signing_keys limit 1')) === undefined) return;
  throw new SecretKeyError(
    'the store has signing secrets, but its key is missing: restore the key file, or set SECRET_KEY',
  );
}

/**
 * Identifies the source of a copy, because a copy continues only with the database that it began with. The checksums find the
 * differences that the row counts do not show.
 */
function fingerprint(tables: readonly CopiedTable[], counts: readonly number[]): string {
  const rows = tables.map(({ name }, index) => [name, counts[index]]);
  return Bun.SHA256.hash(JSON.stringify([MIGRATIONS.at(-1)?.version, rows]), 'hex');
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
