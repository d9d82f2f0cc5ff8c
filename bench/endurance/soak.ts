import { parseArgs } from 'node:util';
import { createPostgresDatabase, stopPostgres } from '../harness/postgres.ts';
import { cleanUp, type Server, startPaybell } from '../harness/processes.ts';
import { credentialsOf } from './callers.ts';
import { type Point, type Slope, slopeOf } from './slope.ts';
import { startLoad } from './soak-load.ts';

/**
 * Whether memory and descriptors stay where they are under all that clients and receivers do:
 * `npm run soak -- --minutes 30 [--engine postgres]`. The first three tenths are the warm-up; the rest is sampled every few
 * seconds, and the slope printed with what of it may be noise. Exits 1 when the run would grow by more than a fifth an hour
 * or loses more than ten descriptors an hour, beyond noise, or when anything is answered with 5xx.
 */

const SAMPLE_EVERY_MS = 5_000;
const WARM_UP_PART = 0.3;
const MAX_GROWTH_AN_HOUR = 0.2;
const MAX_DESCRIPTORS_AN_HOUR = 10;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, engine: { type: 'string', default: 'sqlite' } },
});
const minutes = Number(values.minutes);

/** By the service's own account. */
async function sample({ url }: Server): Promise<{ bytes: number; descriptors: number }> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return { bytes: value('process_resident_memory_bytes'), descriptors: value('process_open_fds') };
}

function describe(name: string, slope: Slope, digits: number): string {
  const text = (value: number) => value.toFixed(digits);
  return `${name}: ${text(slope.first)} at first, ${text(slope.last)} at last, ${text(slope.mean)} on average; slope ${slope.perMinute.toFixed(3)} ± ${slope.uncertaintyPerMinute.toFixed(3)} a minute`;
}

/** Sure to grow by more than is allowed: the whole of the uncertainty is given to the service. */
function growsBeyond(slope: Slope, allowedAnHour: number): boolean {
  return (slope.perMinute - slope.uncertaintyPerMinute) * 60 > allowedAnHour;
}

async function main(): Promise<number> {
  const store: Record<string, string> =
    values.engine === 'postgres' ? { DATABASE_URL: await createPostgresDatabase() } : {};
  const settings = { ...store, ALLOW_INSECURE_TARGETS: 'true', RETRY_SCHEDULE: '0s,1s,5s' };
  const server = await startPaybell({ settings, place: 'anywhere' });
  const load = await startLoad(server, credentialsOf(server));
  const startedAtMs = performance.now();
  const memory: Point[] = [];
  const descriptors: Point[] = [];
  while (performance.now() - startedAtMs < minutes * 60_000) {
    await Bun.sleep(SAMPLE_EVERY_MS);
    const atS = (performance.now() - startedAtMs) / 1_000;
    const now = await sample(server);
    console.log(`${atS.toFixed(0)} s: ${(now.bytes / 2 ** 20).toFixed(1)} MiB, ${now.descriptors} descriptors`);
    if (atS < minutes * 60 * WARM_UP_PART) continue;
    memory.push({ atS, value: now.bytes / 2 ** 20 });
    descriptors.push({ atS, value: now.descriptors });
  }
  await load.stop();
  await server.stop();
  const [memorySlope, descriptorSlope] = [slopeOf(memory), slopeOf(descriptors)];
  console.log(
    `\n${minutes} minutes on ${values.engine}; answers: ${[...load.done].map(([kind, count]) => `${kind} ${count}`).join(', ')}`,
  );
  console.log(describe('memory in MiB', memorySlope, 1));
  console.log(describe('descriptors', descriptorSlope, 1));
  const grows = growsBeyond(memorySlope, MAX_GROWTH_AN_HOUR * memorySlope.mean);
  const leaks = growsBeyond(descriptorSlope, MAX_DESCRIPTORS_AN_HOUR);
  const broken = (load.done.get('5xx') ?? 0) > 0;
  console.log(grows || leaks || broken ? 'NOT FLAT' : 'flat');
  return grows || leaks || broken ? 1 : 0;
}

let exitCode = 1;
try {
  exitCode = await main();
} finally {
  await stopPostgres();
  await cleanUp();
}
process.exit(exitCode);
