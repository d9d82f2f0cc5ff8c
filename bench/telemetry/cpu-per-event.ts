import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { until } from '../../test/support/until.ts';
import { eventBody } from '../harness/event-bodies.ts';
import { API, credentials, deliverySettings, firstCaller, register } from '../harness/paybell-api.ts';
import { cleanUp, startPaybell } from '../harness/processes.ts';
import { cpuSeconds } from '../harness/processor-time.ts';
import { interleave, medianOf, medianRatio, type Subject } from '../harness/rounds.ts';

/**
 * The processor time that one event takes, from `POST /events` to its recorded delivery, without OpenTelemetry and with it at several
 * rates of sampling, in alternation: `npx bun bench/telemetry/cpu-per-event.ts --events 4000 --rounds 7`
 */

const { values } = parseArgs({
  options: { events: { type: 'string', default: '4000' }, rounds: { type: 'string', default: '7' } },
});
const EVENTS = Number(values.events);
const ROUNDS = Number(values.rounds);
const AT_ONCE = 32;
const EVENT = 'TransferFinalized';
/** After the last request: for records, and for the spans that wait to be sent. */
const AFTERWARDS_MS = 1_500;
const ALL_WITHIN_MS = 300_000;

/** The second `off` says what two measurements of the same differ by. */
const VARIANTS = [
  ['off', null],
  ['off again', null],
  ['0', '0'],
  ['0.01', '0.01'],
  ['1', '1'],
] as const;

const collector = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: take });
let collected = 0;

async function take(request: Request): Promise<Response> {
  collected += (await request.bytes()).length;
  return new Response();
}

function settingsOf(ratio: string | null): Record<string, string> {
  if (ratio === null) return {};
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.origin,
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: ratio,
    OTEL_BSP_SCHEDULE_DELAY: '500',
    // So that no span is lost, which would cost less.
    OTEL_BSP_MAX_QUEUE_SIZE: '100000',
  };
}

async function startVariant(name: string, ratio: string | null): Promise<Subject> {
  let received = 0;
  const receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => {
      received++;
      return new Response();
    },
  });
  const settings = { ...deliverySettings('sqlite:./paybell.db'), ...settingsOf(ratio) };
  const paybell = await startPaybell({ settings, place: 'anywhere' });
  const caller = firstCaller(paybell);
  await register(paybell, caller, EVENT, [receiver.url.href]);
  const headers = { ...credentials(caller), 'content-type': 'application/json' };
  const measure = async () => {
    const before = { received, cpuS: cpuSeconds(paybell.pid) ?? Number.NaN };
    let left = EVENTS;
    const send = async () => {
      while (left-- > 0) {
        const response = await fetch(`${paybell.url}${API}/events`, {
          method: 'POST',
          headers,
          body: eventBody(EVENT),
        });
        if (response.status !== 202) throw new Error(`an event was answered with ${response.status}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, send));
    await until('all are delivered', () => received - before.received >= EVENTS, ALL_WITHIN_MS);
    await Bun.sleep(AFTERWARDS_MS);
    return { cpuUs: (((cpuSeconds(paybell.pid) ?? Number.NaN) - before.cpuS) / EVENTS) * 1e6 };
  };
  return { name, measure };
}

await runAndExit(async () => {
  try {
    const subjects: Subject[] = [];
    for (const [name, ratio] of VARIANTS) subjects.push(await startVariant(name, ratio));
    // Once for each, for the compiler.
    for (const { measure } of subjects) await measure(0);
    const rounds = await interleave(subjects, ROUNDS, () => undefined);
    const rows = subjects.map(({ name }) => [
      name,
      medianOf(rounds, name, 'cpuUs').toFixed(0),
      medianRatio(rounds, name, 'off', 'cpuUs').toFixed(2),
    ]);
    printTable(['sampling', 'µs an event', '÷ off'], rows, '');
    printLine(
      `The collector was sent ${(collected / 1e6).toFixed(1)} MB. Medians of ${ROUNDS} rounds of ${EVENTS} events.`,
    );
    return 0;
  } finally {
    await cleanUp();
    await collector.stop(true);
  }
});
