import { expect, setDefaultTimeout, test } from 'bun:test';
import { createPostgresDatabase } from '../support/postgres.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

setDefaultTimeout(120_000);

const SETTINGS = { DESTINATION_CONCURRENCY: '9' };

/** How many instances deliver, and how many attempts at a time this one may make to one destination. */
async function shareOf(service: TestService): Promise<string> {
  const metrics = parseMetrics(await (await fetch(`${service.url}/metrics`)).text());
  return ['paybell_instances', 'paybell_destination_concurrency'].map((name) => sampleOf(metrics, name)).join(' ');
}

test('two instances share DESTINATION_CONCURRENCY while both run', async () => {
  const url = await createPostgresDatabase();
  await using first = await startTestService(url, SETTINGS);
  expect(await shareOf(first)).toBe('1 9');
  {
    await using second = await startTestService(url, SETTINGS);
    expect(await shareOf(second)).toBe('2 4');
    await until('the first has noticed', async () => (await shareOf(first)) === '2 4');
  }
  await until('the first has noticed that it is alone', async () => (await shareOf(first)) === '1 9');
});
