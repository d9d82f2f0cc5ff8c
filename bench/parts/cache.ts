import { residentBytes, startPaybell } from '../harness/processes.ts';
import type { Sample } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { coldRequests } from '../load/cold-requests.ts';
import { amount, type PartResult } from '../report/report.ts';
import { ORDINARY, seedStore } from '../store/seed.ts';

/** A million different list requests, for more entities than the caches have room for: the caches have to be bounded. */

const WEBHOOKS_EACH = 200;
const MEGABYTE = 1024 ** 2;

export async function benchCache({ mode, progress, profile }: Tools): Promise<PartResult> {
  const wanted = mode.quick ? 100_000 : 1_000_000;
  const plan = { entities: mode.manyColdEntities, webhooksEach: WEBHOOKS_EACH, rule: ORDINARY };
  const store = await seedStore('sqlite', plan, progress);
  const server = await startPaybell({ settings: { DATABASE_URL: store.databaseUrl }, profile: profile('cache') });
  const requests = coldRequests(mode.manyColdEntities, WEBHOOKS_EACH);
  const samples: Sample[] = [{ requests: 0, bytes: await residentBytes(server.pid) }];
  while (requests.sent() < wanted) {
    progress(`${requests.sent().toLocaleString('en')} of ${wanted.toLocaleString('en')} different requests`);
    await requests.load(server, mode.quick ? 1 : 3);
    samples.push({ requests: requests.sent(), bytes: await residentBytes(server.pid) });
  }
  await server.stop();
  const at = (share: number) =>
    samples.find(({ requests }) => (requests ?? 0) >= wanted * share) ?? samples.at(-1) ?? {};
  const shown = [0, 0.1, 0.5, 1].map((share) => {
    const { requests = 0, bytes = 0 } = at(share);
    return `${(bytes / MEGABYTE).toFixed(0)} MB after ${amount(requests)}`;
  });
  return {
    rows: [{ what: 'resident memory during different list requests', figures: shown.join(', '), check: null }],
    charts: [],
    raw: { cache: { cache: samples } },
  };
}
