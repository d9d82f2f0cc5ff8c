import { freePort, startPaybell, tempFolder } from '../harness/processes.ts';
import { interleave, medianOf } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { lower, type PartResult } from '../report/report.ts';

/** From the command to the first response, with a store that does not exist yet. */

const MAX_WAIT_MS = 30_000;

export async function benchStart({ mode, progress }: Tools): Promise<PartResult> {
  const rounds = await interleave([{ name: 'start', measure: startOnce }], mode.starts, progress);
  const seconds = medianOf(rounds, 'start', 'seconds');
  return {
    rows: [
      {
        what: 'start to first 200, empty store',
        figures: `${seconds.toFixed(2)} s`,
        check: lower(seconds, 1, 0.3, ' s'),
      },
    ],
    charts: [],
    raw: { start: rounds },
  };
}

async function startOnce(): Promise<{ seconds: number }> {
  const port = freePort();
  const startedAtMs = performance.now();
  const starting = startPaybell({
    settings: { DATABASE_URL: `sqlite:${tempFolder()}/paybell.db`, PORT: String(port) },
  });
  await firstResponse(`http://127.0.0.1:${port}/readyz`, startedAtMs + MAX_WAIT_MS);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  await (await starting).stop();
  return { seconds };
}

async function firstResponse(url: string, deadlineMs: number): Promise<void> {
  while (performance.now() < deadlineMs) {
    const response = await fetch(url).catch(() => null);
    if (response?.status === 200) return;
    await Bun.sleep(2);
  }
  throw new Error(`${url} did not respond in time`);
}
