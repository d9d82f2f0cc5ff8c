import { LIST_PATH } from '../harness/paybell-api.ts';
import { freePort, startPaybell } from '../harness/processes.ts';
import { interleave, medianOf } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { runLoad } from '../load/load.ts';
import { amount, type PartResult } from '../report/report.ts';
import { callerOf, ORDINARY, seedStore, WEBHOOKS_EACH } from '../store/seed.ts';

/** One, two and three instances on one port and one PostgreSQL, on any core that the system gives them. */

const COUNTS = [1, 2, 3];

export async function benchInstances({ mode, progress }: Tools): Promise<PartResult> {
  const entities = mode.quick ? 10 : 1_000;
  const store = await seedStore('postgres', { entities, webhooksEach: WEBHOOKS_EACH, rule: ORDINARY }, progress);
  const groups = await Promise.all(
    COUNTS.map((count) => {
      const settings = { DATABASE_URL: store.databaseUrl, REUSE_PORT: 'true', PORT: String(freePort()) };
      return Promise.all(Array.from({ length: count }, () => startPaybell({ settings, place: 'anywhere' })));
    }),
  );
  const subjects = groups.map((group) => {
    const load = { url: `${group[0]?.url}${LIST_PATH}`, callers: [callerOf(0)], seconds: mode.roundSeconds };
    return { name: String(group.length), measure: async () => ({ ...(await runLoad(load)) }) };
  });
  if (!mode.quick) for (const { measure } of subjects) await measure();
  const rounds = await interleave(subjects, mode.quick ? 1 : mode.rounds, progress);
  await Promise.all(groups.flat().map((server) => server.stop()));
  const rate = (count: number) => medianOf(rounds, String(count), 'perSecond');
  return {
    rows: [
      {
        what: 'list, PostgreSQL, 1, 2 and 3 instances on one port',
        figures: `${COUNTS.map((count) => amount(rate(count))).join(', ')} requests/s`,
        check: null,
      },
    ],
    charts: [
      {
        name: 'instances',
        title: 'Instances on one port (REUSE_PORT=true), PostgreSQL',
        unit: 'list requests a second, with the load generator and PostgreSQL on the same cores; longer is better',
        bars: COUNTS.map((count) => ({
          label: count === 1 ? 'one instance' : `${count} instances`,
          value: rate(count),
        })),
      },
    ],
    raw: { instances: rounds },
  };
}
