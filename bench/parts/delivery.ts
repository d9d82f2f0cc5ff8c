import { ENGINES, type Engine } from '../../test/support/stores.ts';
import {
  acceptAndDeliverWithCpu,
  FAN_OUT,
  type Paybell,
  type Route,
  startReceiving,
  TO_ONE,
  TO_TEN,
  warmUp,
} from '../delivery/accept-and-deliver.ts';
import { type CountingReceiver, startCountingReceiver } from '../delivery/counting-receiver.ts';
import { eventTemplates } from '../harness/event-bodies.ts';
import { createPostgresDatabase } from '../harness/postgres.ts';
import { type Server, startProgram, tempFolder } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio, type Rounds, type Sample, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { amount, higher, lower, type PartResult, type Row } from '../report/report.ts';

/** Events accepted and delivered, durable on either engine, compared with a loop that only signs and sends. */

/** The default of DESTINATION_CONCURRENCY: the loop has no more requests in flight at a receiver than Paybell. */
const PER_DESTINATION = 16;
/** Before the loop is measured. */
const BARE_WARM_UP_S = 0.5;

type Setup = {
  readonly paybells: Readonly<Record<Engine, Paybell>>;
  readonly receiver: CountingReceiver;
  /** The loop that only signs and sends. */
  readonly bare: Server;
};

export async function benchDelivery({ mode, progress, profile }: Tools): Promise<PartResult> {
  const { paybells, receiver, bare } = await start(profile);
  const amounts = mode.quick ? { one: 2_500, ten: 250 } : { one: 10_000, ten: 1_000 };
  const sending = (name: string, receivers: number): Subject => ({
    name,
    measure: () => sendBare(bare, receivers, mode.deliverySeconds),
  });
  const delivering = (name: string, engine: Engine, route: Route, events: number): Subject => ({
    name: `${name}, ${engine}`,
    measure: () => acceptAndDeliverWithCpu(paybells[engine], receiver, route, events),
  });
  const one = [
    sending('bare, one receiver', 1),
    ...ENGINES.map((engine) => delivering('one webhook', engine, TO_ONE, amounts.one)),
  ];
  const ten = [
    sending('bare, ten receivers', FAN_OUT),
    ...ENGINES.map((engine) => delivering('ten webhooks', engine, TO_TEN, amounts.ten)),
  ];
  // The first ones twice in every round: their ratio is the nearest to its floor and has to be the most exact.
  const subjects = [...one, ...ten, ...one];
  for (const paybell of Object.values(paybells)) {
    progress('warm-up');
    await warmUp(paybell, receiver);
  }
  for (const receivers of [1, FAN_OUT]) await sendBare(bare, receivers, BARE_WARM_UP_S);
  const rounds = await interleave(subjects, mode.deliveryRounds, progress);
  for (const { server } of Object.values(paybells)) await server.stop();
  for (const server of [bare, receiver]) await server.stop();
  return report(rounds);
}

async function start(profile: Tools['profile']): Promise<Setup> {
  const receiver = await startCountingReceiver(FAN_OUT);
  const startOn = (engine: Engine, databaseUrl: string): Promise<Paybell> =>
    startReceiving(receiver, { databaseUrl, profile: profile(`delivery-${engine}`) });
  const paybells = {
    sqlite: await startOn('sqlite', `sqlite:${tempFolder()}/paybell.db`),
    postgres: await startOn('postgres', await createPostgresDatabase()),
  };
  const input = { urls: receiver.urls, concurrency: PER_DESTINATION, templates: eventTemplates(TO_ONE.event) };
  const bare = await startProgram('limits/signed-requests-process.ts', input, 'subject');
  return { paybells, receiver, bare };
}

function report(rounds: Rounds): PartResult {
  const rate = (name: string) => medianOf(rounds, name, 'perSecond');
  const row = (what: string, subject: string, limit: string, floor: number, target: number) => ({
    what: `${what}, durable ÷ bare requests`,
    figures: `${amount(rate(subject))} ÷ ${amount(rate(limit))} requests/s`,
    check: higher(medianRatio(rounds, subject, limit, 'perSecond'), floor, target),
  });
  const cpu = (what: string, subject: string, floor: number, target: number): Row => {
    const [own, all] = ['cpuMicroseconds', 'allCpuMicroseconds'].map((figure) => medianOf(rounds, subject, figure));
    return {
      what: `${what}, PostgreSQL, CPU of Paybell and PostgreSQL`,
      figures: `${own?.toFixed(0)} + ${((all ?? 0) - (own ?? 0)).toFixed(0)} µs`,
      check: lower(all ?? 0, floor, target, ' µs'),
    };
  };
  return {
    rows: [
      row('1 event to 1 webhook, SQLite', 'one webhook, sqlite', 'bare, one receiver', 0.18, 0.4),
      row('1 event to 10 webhooks, SQLite', 'ten webhooks, sqlite', 'bare, ten receivers', 0.46, 0.75),
      row('1 event to 1 webhook, PostgreSQL', 'one webhook, postgres', 'bare, one receiver', 0.12, 0.35),
      row('1 event to 10 webhooks, PostgreSQL', 'ten webhooks, postgres', 'bare, ten receivers', 0.26, 0.6),
      cpu('1 event to 1 webhook', 'one webhook, postgres', 320, 240),
      cpu('a delivery of 1 event to 10 webhooks', 'ten webhooks, postgres', 180, 130),
    ],
    charts: [
      {
        name: 'delivery',
        title: 'Events accepted and delivered, durable',
        unit: 'requests a second on one core, from the first received to the last; longer is better',
        bars: [
          { label: 'bare signed requests, 1 receiver', value: rate('bare, one receiver'), note: 'the limit' },
          { label: 'Paybell on SQLite, 1 event to 1 webhook', value: rate('one webhook, sqlite') },
          { label: 'Paybell on PostgreSQL, 1 event to 1 webhook', value: rate('one webhook, postgres') },
          { label: 'bare signed requests, 10 receivers', value: rate('bare, ten receivers'), note: 'the limit' },
          { label: 'Paybell on SQLite, 1 event to 10 webhooks', value: rate('ten webhooks, sqlite') },
          { label: 'Paybell on PostgreSQL, 1 event to 10 webhooks', value: rate('ten webhooks, postgres') },
        ],
      },
    ],
    raw: { delivery: rounds },
  };
}

async function sendBare(loop: Server, receivers: number, seconds: number): Promise<Sample> {
  const response = await fetch(`${loop.url}/?urls=${receivers}&seconds=${seconds}`);
  const result = (await response.json()) as { perSecond: number; errors: number };
  if (result.errors > 0) throw new Error(`${result.errors} bare requests failed`);
  return result;
}
