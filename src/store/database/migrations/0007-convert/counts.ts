import type { Queries, SqlValue } from '../../database.ts';
import { chunks, valuesList } from '../../sql.ts';

/** Fewer rows than these are kept in memory; pages come in the order of time, so that most rows are written once. */
const MAX_ROWS = 10_000;

/** Sums up rows of counters by their keys and adds them to the table. */
export class Tally {
  readonly #rows = new Map<string, { keys: SqlValue[]; sums: number[] }>();

  constructor(
    private readonly queries: Queries,
    private readonly table: string,
    private readonly keys: readonly string[],
    private readonly sums: readonly string[],
  ) {}

  async add(rows: readonly Readonly<Record<string, SqlValue>>[]): Promise<void> {
    for (const row of rows) {
      const keys = this.keys.map((name) => row[name] ?? null);
      const key = keys.map((value) => (value instanceof Uint8Array ? value.toHex() : value)).join(' ');
      const known = this.#rows.get(key) ?? { keys, sums: this.sums.map(() => 0) };
      this.#rows.set(key, { keys, sums: known.sums.map((sum, at) => sum + Number(row[this.sums[at] ?? ''] ?? 0)) });
    }
    if (this.#rows.size > MAX_ROWS) await this.write();
  }

  async write(): Promise<void> {
    const columns = [...this.keys, 'shard', ...this.sums];
    const add = this.sums.map((name) => `${name} = ${this.table}.${name} + excluded.${name}`);
    const rows = [...this.#rows.values()].filter(({ sums }) => sums.some((sum) => sum !== 0));
    for (const chunk of chunks(rows)) {
      await this.queries.run(
        `insert into ${this.table} (${columns.join(', ')}) values ${valuesList(chunk.length, columns.length)}
         on conflict (${this.keys.join(', ')}, shard) do update set ${add.join(', ')}`,
        chunk.flatMap(({ keys, sums }): SqlValue[] => [...keys, 0, ...sums]),
      );
    }
    this.#rows.clear();
  }
}
