import { type Caller, LIST_PATH } from '../harness/paybell-api.ts';
import { type Server, startPaybell, startProgram } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio, type Rounds, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { startBareServer } from '../limits/bare-server.ts';
import { coldRequests } from '../load/cold-requests.ts';
import { loadServer } from '../load/load.ts';
import { requireConformance } from '../peers/conformance.ts';
import { amount, higher, type PartResult } from '../report/report.ts';
import { callerOf, type Engine, ORDINARY, type Store, seedStore, WEBHOOKS_EACH } from '../store/seed.ts';

/** The list request: warm on both engines and cold, compared with the bare server and with the peer. */

const COLD_WEBHOOKS_EACH = 200;

export async function benchList(tools: Tools): Promise<PartResult> {
  const { mode, progress } = tools;
  const caller = callerOf(0);
  const servers = await start(tools, caller);
  const warm = (name: string, server: Server): Subject => ({
    name,
    measure: () => loadServer(server, { callers: [caller], seconds: mode.roundSeconds }, LIST_PATH),
  });
  const cold = (name: string, server: Server, entities: number): Subject => {
    const requests = coldRequests(entities, COLD_WEBHOOKS_EACH);
    return { name, measure: () => requests.load(server, mode.roundSeconds) };
  };
  const subjects = [
    warm('bare', servers.bare),
    warm('sqlite', servers.sqlite),
    cold('cold', servers.cold, mode.coldEntities),
    ...(servers.uncacheable === null ? [] : [cold('uncacheable', servers.uncacheable, mode.manyColdEntities)]),
    warm('postgres', servers.postgres),
    warm('peer', servers.peer),
  ];
  const warmUps: Readonly<Record<string, number>> = {
    bare: 1,
    cold: mode.coldWarmUps,
    uncacheable: mode.coldWarmUps,
  };
  progress('warm-up');
  for (const { name, measure } of subjects) {
    for (let round = 0; round < (warmUps[name] ?? mode.warmUps); round++) await measure(round);
  }
  const rounds = await interleave(subjects, mode.rounds, progress);
  await Promise.all(Object.values(servers).map((server) => server?.stop()));
  return report(rounds, servers.uncacheable === null ? null : mode.manyColdEntities);
}

async function start({ mode, progress, profile }: Tools, caller: Caller) {
  const seed = (engine: Engine, entities: number, webhooksEach = WEBHOOKS_EACH) =>
    seedStore(engine, { entities, webhooksEach, rule: ORDINARY }, progress);
  const startOn = ({ databaseUrl }: Store, name: string) =>
    startPaybell({ settings: { DATABASE_URL: databaseUrl }, profile: profile(`list-${name}`) });
  const entities = mode.quick ? 100 : 1_000;
  const [postgresStore, sqliteStore, coldStore] = await Promise.all([
    seed('postgres', entities),
    seed('sqlite', entities),
    seed('sqlite', mode.coldEntities, COLD_WEBHOOKS_EACH),
  ]);
  const [sqlite, postgres, cold, peer] = await Promise.all([
    startOn(sqliteStore, 'sqlite'),
    startOn(postgresStore, 'postgres'),
    startOn(coldStore, 'cold'),
    startProgram('peers/fastify-pg.js', postgresStore, 'subject', 'node'),
  ]);
  // More entities than the caches have room for. It has no floor, and quick mode leaves it out.
  const uncacheable = mode.quick
    ? null
    : await startOn(await seed('sqlite', mode.manyColdEntities, COLD_WEBHOOKS_EACH), 'uncacheable');
  progress('conformance');
  await requireConformance('Paybell on SQLite', sqlite.url, caller);
  await requireConformance('Paybell on PostgreSQL', postgres.url, caller);
  await requireConformance('the peer', peer.url, caller);
  return { sqlite, postgres, cold, peer, uncacheable, bare: await startBareServer(sqlite, caller) };
}

function report(rounds: Rounds, uncacheableEntities: number | null): PartResult {
  const rate = (name: string) => medianOf(rounds, name, 'perSecond');
  const figures = (subject: string, limit: string) => `${amount(rate(subject))} ÷ ${amount(rate(limit))} requests/s`;
  const row = (what: string, subject: string, limit: string, floor: number, target: number) => ({
    what,
    figures: figures(subject, limit),
    check: higher(medianRatio(rounds, subject, limit, 'perSecond'), floor, target),
  });
  const uncacheableRow = {
    what: `the same with ${amount(uncacheableEntities ?? 0)} entities, more than the caches hold`,
    figures: figures('uncacheable', 'bare'),
    check: null,
  };
  const uncacheableBar = { label: 'the same, more than the caches hold', value: rate('uncacheable') };
  const measured = <Shown>(shown: Shown) => (uncacheableEntities === null ? [] : [shown]);
  return {
    rows: [
      row('list, 25 rows, warm, SQLite ÷ bare server', 'sqlite', 'bare', 0.6, 0.85),
      row('list, 25 rows, warm, PostgreSQL ÷ bare server', 'postgres', 'bare', 0.47, 0.75),
      row('list, PostgreSQL ÷ Fastify + pg', 'postgres', 'peer', 9, 10),
      row('list, each another entity and query, SQLite ÷ bare server', 'cold', 'bare', 0.27, 0.45),
      ...measured(uncacheableRow),
    ],
    charts: [
      {
        name: 'list',
        title: 'The list request, 25 rows',
        unit: 'requests a second on one core, 64 connections; longer is better',
        bars: [
          { label: 'bare Bun server', value: rate('bare'), note: 'the limit' },
          { label: 'Paybell, SQLite', value: rate('sqlite') },
          { label: 'Paybell, PostgreSQL', value: rate('postgres') },
          { label: 'Paybell, SQLite, not cached', value: rate('cold') },
          ...measured(uncacheableBar),
          { label: 'Fastify + pg, PostgreSQL', value: rate('peer') },
        ],
      },
    ],
    raw: { list: rounds },
  };
}
