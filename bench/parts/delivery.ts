import { ENGINES, type Engine } from '../../test/support/stores.ts';
import {
  acceptAndDeliverWithCpu,
  FAN_OUT,
  type Paybell,
  type Route,
  sendAndDeliver,
  startReceiving,
  TO_ONE,
  TO_TEN,
  WARM_UP,
  warmUp,
} from '../delivery/accept-and-deliver.ts';
import { type CountingReceiver, startCountingReceiver } from '../delivery/counting-receiver.ts';
import { eventTemplates } from '../harness/event-bodies.ts';
import { createPostgresDatabase } from '../harness/postgres.ts';
import { type Server, startProgram, tempFolder } from '../harness/processes.ts';
import { interleave, medianOf, medianRatio, type Rounds, type Sample, type Subject } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { withCpu } from '../load/load.ts';
import { amount, lower, type PartResult, type Row } from '../report/report.ts';

/** Events accepted and delivered, durable on either engine, compared with the barest programs: one that is durable too, and a loop that only signs and sends. */

/** The default of DESTINATION_CONCURRENCY: the loop has no more requests in flight at a receiver than Paybell. */
const PER_DESTINATION = 16;
/** Before the loop is measured. */
const BARE_WARM_UP_S = 0.5;

type Setup = {
  readonly paybells: Readonly<Record<Engine, Paybell>>;
  readonly receiver: CountingReceiver;
  /** The loop that only signs and sends. */
  readonly bare: Server;
  /** The barest program that stores every event and delivery before it says so. */
  readonly durable: Server;
};

export async function benchDelivery({ mode, progress, profile }: Tools): Promise<PartResult> {
  const { paybells, receiver, bare, durable } = await start(profile);
  const amounts = mode.quick ? { one: 2_500, ten: 250 } : { one: 10_000, ten: 1_000 };
  const sending = (name: string, receivers: number): Subject => ({
    name,
    measure: () => sendBare(bare, receivers, mode.deliverySeconds),
  });
  const delivering = (name: string, engine: Engine, route: Route, events: number): Subject => ({
    name: `${name}, ${engine}`,
    measure: () => acceptAndDeliverWithCpu(paybells[engine], receiver, route, events),
  });
  const delivered = (name: string, route: Route, events: number): Subject => ({
    name,
    measure: () => withCpu(durable, () => deliverDurably(durable, receiver, route, events)),
  });
  const one = [
    sending('bare, one receiver', 1),
    delivered('durable, one receiver', TO_ONE, amounts.one),
    ...ENGINES.map((engine) => delivering('one webhook', engine, TO_ONE, amounts.one)),
  ];
  const ten = [
    sending('bare, ten receivers', FAN_OUT),
    delivered('durable, ten receivers', TO_TEN, amounts.ten),
    ...ENGINES.map((engine) => delivering('ten webhooks', engine, TO_TEN, amounts.ten)),
  ];
  // The first ones twice in every round: their ratio is the nearest to its floor and has to be the most exact.
  const subjects = [...one, ...ten, ...one];
  for (const paybell of Object.values(paybells)) {
    progress('warm-up');
    await warmUp(paybell, receiver);
  }
  for (const receivers of [1, FAN_OUT]) await sendBare(bare, receivers, BARE_WARM_UP_S);
  await deliverDurably(durable, receiver, TO_ONE, WARM_UP.one);
  await deliverDurably(durable, receiver, TO_TEN, WARM_UP.ten);
  const rounds = await interleave(subjects, mode.deliveryRounds, progress);
  for (const { server } of Object.values(paybells)) await server.stop();
  for (const server of [bare, durable, receiver]) await server.stop();
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
  const routes = { [TO_ONE.event]: receiver.urls.slice(0, 1), [TO_TEN.event]: receiver.urls.slice(0, FAN_OUT) };
  const file = `${tempFolder()}/durable.db`;
  const durable = await startProgram('limits/durable-process.ts', { file, routes }, 'subject');
  return { paybells, receiver, bare, durable };
}

function deliverDurably({ url }: Server, receiver: CountingReceiver, route: Route, events: number) {
  const headers = { 'content-type': 'application/json' };
  const caller = { entityId: '', apiKey: '' };
  return sendAndDeliver(
    { url, headers, bodies: eventTemplates(route.event), callers: [caller] },
    receiver,
    route,
    events,
  );
}

function report(rounds: Rounds): PartResult {
  const rate = (name: string) => medianOf(rounds, name, 'perSecond');
  const time = (name: string) => medianOf(rounds, name, 'cpuMicroseconds');
  const row = (what: string, subject: string, limit: string, floor: number, target: number): Row => ({
    what: `${what}, CPU of Paybell ÷ barest durable program`,
    figures: `${time(subject).toFixed(0)} ÷ ${time(limit).toFixed(0)} µs a delivery, ${amount(rate(subject))} ÷ ${amount(rate(limit))}/s`,
    check: lower(medianRatio(rounds, subject, limit, 'cpuMicroseconds'), floor, target),
  });
  const cpu = (what: string, subject: string, limit: string, floor: number, target: number): Row => {
    const [own, all] = ['cpuMicroseconds', 'allCpuMicroseconds'].map((figure) => medianOf(rounds, subject, figure));
    return {
      what: `${what}, PostgreSQL, CPU of Paybell and PostgreSQL ÷ barest durable program`,
      figures: `${own?.toFixed(0)} + ${((all ?? 0) - (own ?? 0)).toFixed(0)} ÷ ${time(limit).toFixed(0)} µs`,
      check: lower(medianRatio(rounds, subject, limit, 'allCpuMicroseconds', 'cpuMicroseconds'), floor, target),
    };
  };
  return {
    rows: [
      row('1 event to 1 webhook, SQLite', 'one webhook, sqlite', 'durable, one receiver', 4, 1.5),
      row('1 event to 10 webhooks, SQLite', 'ten webhooks, sqlite', 'durable, ten receivers', 3, 1.5),
      row('1 event to 1 webhook, PostgreSQL', 'one webhook, postgres', 'durable, one receiver', 5, 2),
      row('1 event to 10 webhooks, PostgreSQL', 'ten webhooks, postgres', 'durable, ten receivers', 4, 2),
      cpu('1 event to 1 webhook', 'one webhook, postgres', 'durable, one receiver', 4, 2.5),
      cpu('a delivery of 1 event to 10 webhooks', 'ten webhooks, postgres', 'durable, ten receivers', 3.2, 2),
    ],
    charts: [
      {
        name: 'delivery',
        title: 'Events accepted and delivered, durable',
        unit: 'requests a second on one core, from the first received to the last; longer is better',
        bars: [
          { label: 'bare signed requests, 1 receiver', value: rate('bare, one receiver'), note: 'nothing is stored' },
          { label: 'barest durable program, 1 receiver', value: rate('durable, one receiver'), note: 'the limit' },
          { label: 'Paybell on SQLite, 1 event to 1 webhook', value: rate('one webhook, sqlite') },
          { label: 'Paybell on PostgreSQL, 1 event to 1 webhook', value: rate('one webhook, postgres') },
          {
            label: 'bare signed requests, 10 receivers',
            value: rate('bare, ten receivers'),
            note: 'nothing is stored',
          },
          { label: 'barest durable program, 10 receivers', value: rate('durable, ten receivers'), note: 'the limit' },
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
