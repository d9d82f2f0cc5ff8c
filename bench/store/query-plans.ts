import { resolve } from 'node:path';
import { SQL } from 'bun';
import { deliveryListQuerySchema } from '../../src/contract/deliveries.ts';
import { webhookListQuerySchema } from '../../src/contract/webhooks.ts';
import type { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { listDeliveries } from '../../src/store/deliveries/read.ts';
import { listWebhooks } from '../../src/store/webhooks/list.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES, type Engine } from '../../test/support/stores.ts';
import { explaining } from './explaining.ts';
import {
  type Cases,
  DELIVERY_CASES,
  seedManyDeliveries,
  seedManyWebhooks,
  seedOtherEntities,
  WEBHOOK_CASES,
} from './list-cases.ts';

/**
 * Writes dist/query-plans.md, the plans of the lists of large entities on each engine: `npm run query-plans`. The rules
 * that these plans must follow are in test/store/database/query-plans.test.ts.
 */

const PAGE = resolve(import.meta.dir, '../../dist/query-plans.md');

const INTRODUCTION = `# Query plans

How each engine reads the pages of a large entity. SQLite's plans are from \`explain query plan\`. PostgreSQL's plans are from
\`explain analyze\` and include the number of rows that each step reads. The last line of a plan is the number of rows on the page
and of matches. [Decisions](../docs/decisions/database.md#list-queries) has the reasons.
`;

type PageSize = { readonly rows: number; readonly totalResults: number };

type List = {
  readonly title: string;
  readonly about: string;
  readonly cases: Cases;
  /** Returns the entity whose list is read. */
  readonly seed: (db: Database) => Promise<string>;
  readonly read: (db: Database, entityId: string, given: Cases[string]) => Promise<PageSize>;
};

const LISTS: readonly List[] = [
  {
    title: 'Webhooks',
    about: 'An entity with 100,000 webhooks (200 networks × 5 events × 100 URLs) among 2,000 others.',
    cases: WEBHOOK_CASES,
    seed: seedManyWebhooks,
    read: async (db, entityId, given) => {
      const { totalResults, webhooks } = await listWebhooks(db, entityId, webhookListQuerySchema.parse(given));
      return { totalResults, rows: webhooks.length };
    },
  },
  {
    title: 'Deliveries',
    about:
      'An entity with 100,000 deliveries, of which 1 % failed and 0.5 % are pending, beside another of the same size.',
    cases: DELIVERY_CASES,
    seed: seedManyDeliveries,
    read: async (db, entityId, given) => {
      const { totalResults, deliveries } = await listDeliveries(db, entityId, deliveryListQuerySchema.parse(given));
      return { totalResults, rows: deliveries.length };
    },
  },
];

/** The plan of every case, by list and case. */
async function explainAll(engine: Engine): Promise<Map<string, string>> {
  const plans = new Map<string, string>();
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  await seedOtherEntities(db);
  // All before the first plan: after an `explain`, Bun keeps the snapshot of that SQLite connection open.
  const entityIds = new Map<List, string>();
  for (const list of LISTS) entityIds.set(list, await list.seed(db));
  if (target.engine === 'postgres') await updateStatistics(target.url);
  for (const list of LISTS) {
    const { title, cases, read } = list;
    const entityId = entityIds.get(list) ?? '';
    for (const [name, given] of Object.entries(cases)) {
      const lines: string[] = [];
      const printing = explaining(db, (line) => lines.push(line));
      const { rows, totalResults } = await read(printing, entityId, given);
      const plan = lines.map(shorten).filter((line) => !NOISE.test(line));
      plans.set(keyOf(title, name), [...plan, `→ ${rows} of ${totalResults}`].join('\n'));
    }
  }
  await db.close();
  remove();
  return plans;
}

/** Outside of a transaction, as autovacuum does it. */
async function updateStatistics(url: string): Promise<void> {
  const connection = new SQL(url, { max: 1 });
  await connection.unsafe('vacuum analyze');
  await connection.close();
}

/** Details that differ from machine to machine. */
const NOISE =
  /^ *(Heap Blocks|Heap Fetches|Index Searches|Sort Method|Workers (Planned|Launched)|Rows Removed by Filter):/;

/** Ids differ from run to run, and a list of them says no more than its first. */
function shorten(line: string): string {
  return line
    .replace(/\{[^}]*\}/g, '{…}')
    .replace(/\b(ent|wh|dlv)_[0-9a-f]{20,}/g, '$1_…')
    .trimEnd();
}

function keyOf(title: string, name: string): string {
  return `${title}: ${name}`;
}

const plans = new Map<Engine, Map<string, string>>();
for (const engine of ENGINES) plans.set(engine, await explainAll(engine));
await stopPostgres();

const sections = LISTS.map(({ title, about, cases }) => {
  const ofCases = Object.entries(cases).flatMap(([name, given]) => {
    const query = new URLSearchParams(given).toString();
    const blocks = ENGINES.map(
      (engine) => `${engine}:\n\n\`\`\`\n${plans.get(engine)?.get(keyOf(title, name))}\n\`\`\``,
    );
    return [`### ${title}: ${name}`, query === '' ? 'Without parameters.' : `\`?${query}\``, ...blocks];
  });
  return [`## ${title}`, about, ...ofCases].join('\n\n');
});

await Bun.write(PAGE, `${INTRODUCTION}\n${sections.join('\n\n')}\n`);
console.log(`wrote ${PAGE}`);
