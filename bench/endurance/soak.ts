import { parseArgs } from 'node:util';
import { firstCaller } from '../harness/paybell-api.ts';
import { createPostgresDatabase, stopPostgres } from '../harness/postgres.ts';
import { cleanUp, type Server, startPaybell } from '../harness/processes.ts';
import { type Point, type Slope, slopeOf } from './slope.ts';
import { startLoad } from './soak-load.ts';

/**
 * Whether memory and file descriptors stay constant under long load: `npm run soak -- --minutes 30 [--engine postgres]`.
 * The first 30 % of the time are the warm-up; the rest is sampled every few seconds, and the slope is printed with its
 * uncertainty. Exits with 1 when memory grows by more than a fifth an hour or descriptors by more than ten an hour, beyond
 * the uncertainty, when a request returns 5xx, or when the auditor repairs anything.
 */

const SAMPLE_EVERY_MS = 5_000;
const WARM_UP_PART = 0.3;
const MAX_GROWTH_AN_HOUR = 0.2;
const MAX_DESCRIPTORS_AN_HOUR = 10;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, engine: { type: 'string', default: 'sqlite' } },
});
const minutes = Number(values.minutes);

/** From the service's own metrics. */
async function sample({ url }: Server): Promise<{ bytes: number; descriptors: number; audited: number }> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  const audited =
    value('paybell_audited_total\\{found="hidden"\\}') + value('paybell_audited_total\\{found="parked"\\}');
  return { bytes: value('process_resident_memory_bytes'), descriptors: value('process_open_fds'), audited };
}

function describe(name: string, slope: Slope, digits: number): string {
  const text = (value: number) => value.toFixed(digits);
  return `${name}: ${text(slope.first)} at the start, ${text(slope.last)} at the end, ${text(slope.mean)} on average; slope ${slope.perMinute.toFixed(3)} ± ${slope.uncertaintyPerMinute.toFixed(3)} a minute`;
}

/** True only when the growth exceeds the limit by more than the uncertainty. */
function growsBeyond(slope: Slope, allowedAnHour: number): boolean {
  return (slope.perMinute - slope.uncertaintyPerMinute) * 60 > allowedAnHour;
}

async function main(): Promise<number> {
  const store: Record<string, string> =
    values.engine === 'postgres' ? { DATABASE_URL: await createPostgresDatabase() } : {};
  const settings = { ...store, ALLOW_INSECURE_TARGETS: 'true', RETRY_SCHEDULE: '0s,1s,5s' };
  const server = await startPaybell({ settings, place: 'anywhere' });
  const load = await startLoad(server, firstCaller(server));
  const startedAtMs = performance.now();
  const memory: Point[] = [];
  const descriptors: Point[] = [];
  let audited = 0;
  while (performance.now() - startedAtMs < minutes * 60_000) {
    await Bun.sleep(SAMPLE_EVERY_MS);
    const atS = (performance.now() - startedAtMs) / 1_000;
    const now = await sample(server);
    audited = now.audited;
    console.log(`${atS.toFixed(0)} s: ${(now.bytes / 2 ** 20).toFixed(1)} MiB, ${now.descriptors} descriptors`);
    if (atS < minutes * 60 * WARM_UP_PART) continue;
    memory.push({ atS, value: now.bytes / 2 ** 20 });
    descriptors.push({ atS, value: now.descriptors });
  }
  await load.stop();
  await server.stop();
  const [memorySlope, descriptorSlope] = [slopeOf(memory), slopeOf(descriptors)];
  console.log(
    `\n${minutes} minutes on ${values.engine}; responses: ${[...load.responses].map(([kind, count]) => `${kind} ${count}`).join(', ')}`,
  );
  console.log(describe('Memory in MiB', memorySlope, 1));
  console.log(describe('Descriptors', descriptorSlope, 1));
  const grows = growsBeyond(memorySlope, MAX_GROWTH_AN_HOUR * memorySlope.mean);
  const leaks = growsBeyond(descriptorSlope, MAX_DESCRIPTORS_AN_HOUR);
  const broken = (load.responses.get('5xx') ?? 0) > 0;
  console.log(grows || leaks || broken ? 'NOT CONSTANT' : 'constant');
  console.log(`Repairs by the auditor: ${audited}`);
  // Not a number if the metric is missing.
  return grows || leaks || broken || audited !== 0 ? 1 : 0;
}

let exitCode = 1;
try {
  exitCode = await main();
} finally {
  await stopPostgres();
  await cleanUp();
}
process.exit(exitCode);
