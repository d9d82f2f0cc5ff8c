import { type Server, startPaybell, startProgram } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { loadServer } from '../load/load.ts';
import { LIST_PATH, requireConformance } from '../peers/conformance.ts';
import { amount, higher, type PartResult } from '../report/report.ts';
import { type Caller, callerOf, type Engine, ORDINARY, type Store, seedStore, WEBHOOKS_EACH } from '../store/seed.ts';
import { coldStream } from '../store/streams.ts';

/** The list request: warm on both engines, cold, beside the bare server and beside the peer. */

const COLD_WEBHOOKS_EACH = 200;

export async function benchList({ mode, progress, profile }: Tools): Promise<PartResult> {
  const caller = callerOf(0);
  const seed = (engine: Engine, entities: number, webhooksEach = WEBHOOKS_EACH) =>
    seedStore(engine, { entities, webhooksEach, rule: ORDINARY }, progress);
  const entities = mode.quick ? 100 : 1_000;
  const [postgres, sqlite, large] = await Promise.all([
    seed('postgres', entities),
    seed('sqlite', entities),
    seed('sqlite', mode.coldEntities, COLD_WEBHOOKS_EACH),
  ]);
  // More than memory has room for; it has no floor, and quick mode no time for it.
  const beyond = mode.quick ? null : await seed('sqlite', mode.manyColdEntities, COLD_WEBHOOKS_EACH);
  const start = ({ databaseUrl }: Store, name: string) =>
    startPaybell({ settings: { DATABASE_URL: databaseUrl }, profile: profile(`list-${name}`) });
  const [sqliteServer, postgresServer, coldServer, peer] = await Promise.all([
    start(sqlite, 'sqlite'),
    start(postgres, 'postgres'),
    start(large, 'cold'),
    startProgram('peers/fastify-pg.js', postgres, 'subject', 'node'),
  ]);
  const beyondServer = beyond === null ? null : await start(beyond, 'beyond');
  progress('conformance');
  await requireConformance('Paybell on SQLite', sqliteServer.url, caller);
  await requireConformance('Paybell on PostgreSQL', postgresServer.url, caller);
  await requireConformance('the peer', peer.url, caller);
  const bare = await startBareServer(sqliteServer, caller);

  const warm = (name: string, server: Server): Subject => ({
    name,
    measure: () => loadServer(server, { callers: [caller], seconds: mode.roundSeconds }, LIST_PATH),
  });
  const coldSubject = (name: string, server: Server, entities: number): Subject => {
    const stream = coldStream(entities, COLD_WEBHOOKS_EACH);
    return { name, measure: () => stream.load(server, mode.roundSeconds) };
  };
  const subjects = [
    warm('bare', bare),
    warm('sqlite', sqliteServer),
    coldSubject('cold', coldServer, mode.coldEntities),
    ...(beyondServer === null ? [] : [coldSubject('beyond', beyondServer, mode.manyColdEntities)]),
    warm('postgres', postgresServer),
    warm('peer', peer),
  ];
  progress('warm-up');
  for (const { name, measure } of subjects) {
    const times = name === 'cold' || name === 'beyond' ? mode.coldWarmUps : name === 'bare' ? 1 : mode.warmUps;
    for (let time = 0; time < times; time++) await measure(0);
  }
  const rounds = await interleave(subjects, mode.rounds, progress);
  const servers = [bare, sqliteServer, coldServer, postgresServer, peer, beyondServer];
  await Promise.all(servers.map((server) => server?.stop()));

  const rate = (name: string) => medianOf(rounds, name, 'perSecond');
  const row = (what: string, subject: string, limit: string, floor: number, target: number) => ({
    what,
    figures: `${amount(rate(subject))} ÷ ${amount(rate(limit))} requests/s`,
    check: higher(medianRatio(rounds, subject, limit, 'perSecond'), floor, target),
  });
  return {
    rows: [
      row('list, 25 rows, warm, SQLite ÷ bare server', 'sqlite', 'bare', 0.6, 0.85),
      row('list, 25 rows, warm, PostgreSQL ÷ bare server', 'postgres', 'bare', 0.4, 0.65),
      row('list, PostgreSQL ÷ Fastify + pg', 'postgres', 'peer', 2, 5),
      row('list, each another entity and query, SQLite ÷ bare server', 'cold', 'bare', 0.25, 0.4),
      ...(beyond === null
        ? []
        : [
            {
              what: `the same with ${amount(mode.manyColdEntities)} entities, more than memory holds`,
              figures: `${amount(rate('beyond'))} ÷ ${amount(rate('bare'))} requests/s`,
              check: null,
            },
          ]),
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
          { label: 'Paybell, SQLite, never asked before', value: rate('cold') },
          ...(beyond === null ? [] : [{ label: 'the same, more than memory holds', value: rate('beyond') }]),
          { label: 'Fastify + pg, PostgreSQL', value: rate('peer') },
        ],
      },
    ],
    raw: { list: rounds },
  };
}

/** Answers what Paybell answers, byte for byte, under the same headers. */
export async function startBareServer(paybell: Server, { apiKey, entityId }: Caller): Promise<Server> {
  const answer = await fetch(paybell.url + LIST_PATH, { headers: { 'api-key': apiKey, 'entity-id': entityId } });
  const body = await answer.text();
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => !/^(date|content-length)$/.test(name)));
  return startProgram('limits/bare-server.ts', { body, headers }, 'subject');
}
