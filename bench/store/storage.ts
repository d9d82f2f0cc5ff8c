import { Database as Connection } from 'bun:sqlite';
import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { Instances } from '../../test/support/instances.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import type { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { startLedgerReceivers } from '../delivery/ledger-receivers.ts';
import { KIND, nextSubjects } from '../harness/event-bodies.ts';
import { postgresCpuSeconds } from '../harness/processor-time.ts';

/**
 * What one delivered delivery costs in the store: bytes that stay, WAL without full-page images, index insertions, the share of
 * updates that change no index (HOT), and the processor time of PostgreSQL. It uses the API and the catalogue alone, so that it runs on any version.
 * Each event is about another transfer, by which it can be found, and one in four names an agreement. `--kind LatePayment` adds what
 * supersession stores.
 * `npx bun bench/store/storage.ts --deliveries 20000 --store postgres`
 */

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '20000' },
    kind: { type: 'string', default: KIND },
    store: { type: 'string' },
  },
});

const DELIVERIES = Number(values.deliveries);
const BATCH = 500;
const BODY_BYTES = 500;

/** Sent by the process that accepted it, or claimed from the store by another. */
const PATHS = ['dispatched directly', 'claimed'] as const;
type Path = (typeof PATHS)[number];

type Figures = { storedBytes: number } & Record<
  'walBytes' | 'insertions' | 'hotShare' | 'cpuMicroseconds',
  number | null
>;

const body = (index: number) => {
  const event = { event: values.kind, networkId: 1, eventId: `event-${index}`, ...nextSubjects(), memo: '' };
  return JSON.stringify({ ...event, memo: 'x'.repeat(BODY_BYTES - JSON.stringify(event).length) });
};

async function send(client: Client): Promise<void> {
  for (let sent = 0; sent < DELIVERIES; sent += BATCH) {
    const lines = Array.from({ length: Math.min(BATCH, DELIVERIES - sent) }, (_, index) => body(sent + index));
    const response = await client.request('POST', '/events/batch', lines.join('\n'), 'application/x-ndjson');
    if (!response.ok) throw new Error(await response.text());
    await response.text();
  }
}

async function waitUntilDelivered(client: Client): Promise<void> {
  for (let polls = 0; polls < 6_000; polls++) {
    const response = await client.request('GET', '/deliveries?status=delivered&limit=1');
    const { totalResults } = (await response.json()) as { totalResults: number };
    if (totalResults === DELIVERIES) return;
    await Bun.sleep(100);
  }
  throw new Error('The deliveries were not delivered within ten minutes');
}

async function measure(engine: Engine, path: Path): Promise<Figures> {
  const receivers = await startLedgerReceivers({ receivers: 1 });
  const instances = await Instances.on(engine, { EVENT_RATE_LIMIT: 'off', ENTITY_BACKLOG_LIMIT: '10000000' });
  try {
    const isDirect = path === 'dispatched directly';
    const first = await instances.start({ ROLE: isDirect ? 'all' : 'api' });
    await first.client.register(receivers.urls[0] ?? '', [values.kind]);
    const store = engine === 'sqlite' ? sqliteStore(instances.databaseUrl) : await postgresStore(instances.databaseUrl);
    await send(first.client);
    await (isDirect ? waitUntilDelivered(first.client) : claimAll(instances));
    await instances.killAll();
    return await store.figures();
  } finally {
    await instances.stop();
    await receivers.stop();
  }
}

/** Another process, which knows nothing of the events but what the store holds. */
async function claimAll(instances: Instances): Promise<void> {
  await instances.killAll();
  const { client } = await instances.start();
  await waitUntilDelivered(client);
}

function sqliteStore(databaseUrl: string) {
  const used = () => {
    const connection = new Connection(databaseUrl.replace('sqlite:', ''));
    connection.exec('pragma wal_checkpoint(truncate)');
    const read = (pragma: string) => Object.values(connection.query(`pragma ${pragma}`).get() ?? {})[0] as number;
    const bytes = (read('page_count') - read('freelist_count')) * read('page_size');
    connection.close();
    return bytes;
  };
  const before = used();
  return {
    figures: async (): Promise<Figures> => ({
      storedBytes: (used() - before) / DELIVERIES,
      walBytes: null,
      insertions: null,
      hotShare: null,
      cpuMicroseconds: null,
    }),
  };
}

type TableRow = { indexes: string; inserted: string; updated: string; hot: string };

async function postgresStore(databaseUrl: string) {
  const sql = new SQL(databaseUrl, { max: 1 });
  const read = async <Row>(text: string) => (await sql.unsafe(text)) as Row[];
  // The first change of a page after a checkpoint writes all of it, which depends on the checkpoints and not on us.
  await sql.unsafe('alter system set full_page_writes = off');
  await sql.unsafe('select pg_reload_conf()');
  const bytes = async () => {
    await sql.unsafe('vacuum');
    const [row] = await read<{ bytes: string }>(
      `select sum(pg_total_relation_size(relid)) as bytes from pg_stat_user_tables`,
    );
    return Number(row?.bytes);
  };
  const position = async () => {
    const [row] = await read<{ position: string }>(`select pg_current_wal_insert_lsn() - '0/0' as position`);
    return Number(row?.position);
  };
  const storedBefore = await bytes();
  await sql.unsafe('select pg_stat_reset()');
  const walBefore = await position();
  const cpuBefore = await postgresCpuSeconds(sql);
  return {
    figures: async (): Promise<Figures> => {
      const walBytes = ((await position()) - walBefore) / DELIVERIES;
      const cpu = await postgresCpuSeconds(sql);
      // A backend that is killed has reported nothing of its last second; what is missing is some dozens of rows.
      const tables = await read<TableRow>(
        `select n_tup_ins as inserted, n_tup_upd as updated, n_tup_hot_upd as hot,
           (select count(*) from pg_index i where i.indrelid = t.relid and i.indpred is null) as indexes
         from pg_stat_user_tables t`,
      );
      const insertions = tables.reduce(
        (sum, row) => sum + (Number(row.inserted) + Number(row.updated) - Number(row.hot)) * Number(row.indexes),
        0,
      );
      const updated = tables.reduce((sum, row) => sum + Number(row.updated), 0);
      const hot = tables.reduce((sum, row) => sum + Number(row.hot), 0);
      const storedBytes = ((await bytes()) - storedBefore) / DELIVERIES;
      await sql.close();
      return {
        storedBytes,
        walBytes,
        insertions: insertions / DELIVERIES,
        hotShare: updated === 0 ? 1 : hot / updated,
        cpuMicroseconds: cpu === null || cpuBefore === null ? null : ((cpu - cpuBefore) / DELIVERIES) * 1e6,
      };
    },
  };
}

const headings = ['store', 'path', 'stored B', 'WAL B', 'index insertions', 'HOT updates', 'CPU µs of PostgreSQL'];
const rows: string[][] = [];
for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
  for (const path of PATHS) {
    const { storedBytes, walBytes, insertions, hotShare, cpuMicroseconds } = await measure(engine, path);
    const show = (value: number | null, digits = 0) => (value === null ? '–' : value.toFixed(digits));
    const hot = hotShare === null ? '–' : `${(hotShare * 100).toFixed(1)} %`;
    rows.push([engine, path, show(storedBytes), show(walBytes), show(insertions, 1), hot, show(cpuMicroseconds)]);
  }
}
printTable(headings, rows, '');
printLine(
  `\nFor each of ${DELIVERIES} deliveries with a body of ${BODY_BYTES} bytes. Partial indexes are not counted.`,
);
await stopPostgres();
process.exit(0);
