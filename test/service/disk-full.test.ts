import { Database as Connection } from 'bun:sqlite';
import { afterEach, expect, spyOn, test } from 'bun:test';
import { tempFolder } from '../support/paybell.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const folder = tempFolder();

afterEach(() => {
  spyOn(performance, 'now').mockRestore();
  folder.remove();
});

/** Calls back with the connection that writes, when it prepares its first statement. */
function findWriter(): { connection: Connection | null; restore: () => void } {
  const { prepare } = Connection.prototype;
  const found: ReturnType<typeof findWriter> = { connection: null, restore: () => spy.mockRestore() };
  const spy = spyOn(Connection.prototype, 'prepare');
  spy.mockImplementation(function (this: Connection, sql: string) {
    if (sql === 'begin immediate') found.connection = this;
    return prepare.call(this, sql);
  } as typeof prepare);
  return found;
}

test('a service whose disk is full is not ready, says why, and is ready again when there is space', async () => {
  const writer = findWriter();
  await using service = await startTestService(`sqlite:${folder.path}/paybell.db`);
  writer.restore();
  const limitPages = (pages: string) => writer.connection?.run(`pragma max_page_count = ${pages}`);
  const client = service.client();
  const read = async (path: string) => {
    const response = await fetch(`${service.url}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const blocked = async () =>
    Number(
      sampleOf(parseMetrics((await read('/metrics')).text), 'paybell_store_writes_blocked', { reason: 'disk_full' }),
    );
  const publish = () => {
    const event = { event: 'LatePayment', networkId: 1, note: 'x'.repeat(200_000) };
    return client.request('POST', '/events', JSON.stringify(event));
  };
  expect((await publish()).status).toBe(202);
  expect([(await read('/readyz')).status, await blocked()]).toEqual([200, 0]);

  limitPages('1');
  const rejected = await publish();
  expect(rejected.status).toBe(503);
  expect(await rejected.json()).toMatchObject({ detail: expect.stringContaining('disk of the database is full') });
  const unready = await read('/readyz');
  expect(unready.status).toBe(503);
  expect(JSON.parse(unready.text)).toMatchObject({ reason: 'the disk of the database is full: free some space' });
  expect(unready.text).not.toContain(folder.path);
  expect(await blocked()).toBe(1);

  limitPages('1073741823');
  expect((await publish()).status).toBe(202);
  const now = performance.now.bind(performance);
  spyOn(performance, 'now').mockImplementation(() => now() + 20_000);
  await until('it is ready', async () => (await publish()).status === 202 && (await read('/readyz')).status === 200);
  expect(await blocked()).toBe(0);
});
