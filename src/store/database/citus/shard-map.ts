import type { Reads, SqlInteger, SqlValue } from '../database.ts';

/**
 * Finds the worker of Citus that has the rows of an entity. All tables by entity are colocated, so the shards of one table are enough.
 */

/** The host and the port of a worker. */
export type WorkerName = string;

type Shard = {
  /** The lowest hash of the shard. It ends where the next one begins. */
  readonly from: number;
  /** Null for the coordinator itself. */
  readonly worker: WorkerName | null;
};

export class ShardMap {
  readonly workers: readonly WorkerName[];

  private constructor(private readonly shards: readonly Shard[]) {
    this.workers = [...new Set(shards.flatMap(({ worker }) => worker ?? []))];
  }

  /** From the catalogue of the coordinator, which needs no worker. */
  static async read(reads: Pick<Reads, 'all'>): Promise<ShardMap> {
    const rows = await reads.all<{ from: string; name: string; port: SqlInteger; group: SqlInteger }>(
      `select s.shardminvalue as "from", n.nodename as name, n.nodeport as port, n.groupid as "group"
       from pg_dist_shard s join pg_dist_placement p on p.shardid = s.shardid
         join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
       where s.logicalrelid = to_regclass('queue')`,
    );
    return ShardMap.of(
      rows.map(({ from, name, port, group }) => ({
        from: Number(from),
        worker: Number(group) === 0 ? null : `${name}:${port}`,
      })),
    );
  }

  static of(shards: readonly Shard[]): ShardMap {
    return new ShardMap(shards.toSorted((a, b) => a.from - b.from));
  }

  /** Null if it is not known, and for rows on the coordinator. */
  workerOf(entity: SqlValue | undefined): WorkerName | null {
    const hash = typeof entity === 'string' ? hashOfUuid(entity) : null;
    if (hash === null) return null;
    return this.shards.findLast(({ from }) => from <= hash)?.worker ?? null;
  }
}

const UUID = /^[0-9a-f]{32}$/;

/** `uuid_hash` of PostgreSQL, by which Citus finds the shard of a row; null for any other text. */
export function hashOfUuid(uuid: string): number | null {
  const hex = uuid.replaceAll('-', '');
  if (!UUID.test(hex)) return null;
  const [first = 0, second = 0, third = 0, fourth = 0] = [0, 8, 16, 24].map((at) => wordAt(hex, at));
  const mixed = mix([START + first, START + second, START + third]);
  return lastOf([mixed[0] + fourth, mixed[1], mixed[2]]);
}

/** The start of every hash of sixteen bytes. */
const START = 0x9e3779b9 + 16 + 3923095;

/** Four bytes, the lowest first. */
function wordAt(hex: string, at: number): number {
  const word = Number.parseInt(hex.slice(at, at + 8), 16);
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}

type Words = readonly [number, number, number];

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

/** Jenkins' lookup3, as `hash_bytes` of PostgreSQL has it. */
function mix([x, y, z]: Words): Words {
  let [a, b, c] = [x | 0, y | 0, z | 0];
  for (const [first, second, third] of [
    [4, 6, 8],
    [16, 19, 4],
  ] as const) {
    a = ((a - c) | 0) ^ rotated(c, first);
    c = (c + b) | 0;
    b = ((b - a) | 0) ^ rotated(a, second);
    a = (a + c) | 0;
    c = ((c - b) | 0) ^ rotated(b, third);
    b = (b + a) | 0;
  }
  return [a, b, c];
}

function lastOf([x, y, z]: Words): number {
  let [a, b, c] = [x | 0, y | 0, z | 0];
  c = ((c ^ b) - rotated(b, 14)) | 0;
  a = ((a ^ c) - rotated(c, 11)) | 0;
  b = ((b ^ a) - rotated(a, 25)) | 0;
  c = ((c ^ b) - rotated(b, 16)) | 0;
  a = ((a ^ c) - rotated(c, 4)) | 0;
  b = ((b ^ a) - rotated(a, 14)) | 0;
  return ((c ^ b) - rotated(b, 24)) | 0;
}
