import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { TEST_SECRET_KEY } from '../support/command-line.ts';
import { tempFolder } from '../support/paybell.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { startTestService } from '../support/service.ts';
import { SUITE_ENGINES } from '../support/suite.ts';
import { until } from '../support/until.ts';

/** The monotonic clock, by which failures are timed, is ahead by this much. */
function advanceClock(ms: number): void {
  const now = performance.now.bind(performance);
  spyOn(performance, 'now').mockImplementation(() => now() + ms);
}

describe.each(SUITE_ENGINES)('a service on %s', (engine) => {
  const folder = tempFolder();
  afterEach(() => {
    spyOn(performance, 'now').mockRestore();
    folder.remove();
  });

  test('whose worker keeps failing is not ready, says why, and is ready again after a success', async () => {
    const url = engine === 'sqlite' ? `sqlite:${folder.path}/paybell.db` : await createPostgresDatabase();
    const rename = async (from: string, to: string) => {
      const db = await openDatabase(loadConfig({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY }).DATABASE_URL);
      await db.transaction((queries) => queries.run(`alter table ${from} rename to ${to}`));
      await db.close();
    };
    await using service = await startTestService(url);
    const ready = async () => {
      const response = await fetch(`${service.url}/readyz`);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const failures = async () => {
      const metrics = parseMetrics(await (await fetch(`${service.url}/metrics`)).text());
      return Number(sampleOf(metrics, 'paybell_worker_failures_in_a_row', { worker: 'tasks' }));
    };
    await rename('tasks', 'tasks_away');
    await until('it has failed three times', async () => (await failures()) >= 3);
    // It may be an outage that passes.
    expect((await ready()).status).toBe(200);
    advanceClock(30_000);
    const { status, body } = await ready();
    expect(status).toBe(503);
    // The first look for a step of the clock reads the tasks too.
    expect(body.reason).toStartWith('background work keeps failing: tasks');
    expect(JSON.stringify(body.workers)).toMatch(/"lastError":".*tasks/);
    await rename('tasks_away', 'tasks');
    await until('it is ready', async () => (await ready()).status === 200);
    expect(await failures()).toBe(0);
  });
});
