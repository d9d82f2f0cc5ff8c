import { Database as Connection } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { shellBlocksUnder } from '../../support/document-blocks.ts';
import { firstCredentials, servePaybell, tempFolder } from '../../support/paybell.ts';
import { createReader } from '../../support/reader.ts';
import { eventIds, sendAll } from '../../support/sending.ts';
import { Client } from '../../support/service.ts';
import { until } from '../../support/until.ts';

describe('a backup taken under load', () => {
  const serving = tempFolder();
  const elsewhere = tempFolder();
  const settings = {
    ALLOW_INSECURE_TARGETS: 'true',
    RATE_LIMIT: 'off',
    EVENT_RATE_LIMIT: 'off',
    RETRY_SCHEDULE: `0s${',2s'.repeat(45)}`,
  };
  const received = new Set<string>();
  let receiverIsWell = false;
  const receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      if (receiverIsWell) received.add(request.headers.get('paybell-event-id') ?? '');
      return new Response(null, { status: receiverIsWell ? 204 : 500 });
    },
  });

  afterAll(async () => {
    await receiver.stop(true);
    serving.remove();
    elsewhere.remove();
  });

  test('is restored elsewhere as docs/operations.md says: nothing is missing, and what was waiting goes on', async () => {
    const [backUp, restore] = await shellBlocksUnder('docs/operations.md', 'Backup and restore');
    if (backUp === undefined || restore === undefined) throw new Error('the page has other blocks now');
    const first = await servePaybell(serving.path, settings);
    const credentials = firstCredentials(first.stdout()) ?? { entityId: '', apiKey: '' };
    const client = new Client(first.url, credentials);
    await client.register(`http://127.0.0.1:${receiver.port}/`);
    const sending = sendAll([client], eventIds(2_000));
    await until('some were accepted', () => sending.acknowledged.size >= 200);
    const before = [...sending.acknowledged];
    await createReader({}, { folder: serving.path }).run(backUp);
    const during = sending.acknowledged.size;
    await sending.done;
    await first.stop();
    expect(during).toBeGreaterThan(before.length);
    expect(sending.acknowledged.size).toBe(2_000);

    cpSync(join(serving.path, 'backups'), join(elsewhere.path, 'backups'), { recursive: true });
    expect(await createReader({}, { folder: elsewhere.path }).run(restore)).toContain('ok       secret key');
    const copy = contentsOf(join(elsewhere.path, 'backups/paybell.db'));
    expect(copy.eventsWithoutAllDeliveries).toBe(0);
    expect(before.filter((id) => !copy.events.has(id))).toEqual([]);

    receiverIsWell = true;
    const second = await servePaybell(elsewhere.path, settings);
    const restoredClient = new Client(second.url, credentials);
    const total = async (path: string) =>
      ((await (await restoredClient.request('GET', path)).json()) as { totalResults: number }).totalResults;
    expect(await total('/events')).toBe(copy.events.size);
    expect(await total('/deliveries')).toBe(copy.events.size);
    await until('all was delivered', async () => (await total('/deliveries?status=delivered')) === copy.events.size);
    expect(received).toEqual(copy.events);
    await second.stop();
  });
});

function contentsOf(file: string): { events: Set<string>; eventsWithoutAllDeliveries: number } {
  using copy = new Connection(file, { readonly: true });
  const events = copy.query('select event_id as id from events').all() as { id: string }[];
  const { broken } = copy
    .query(
      `select count(*) as broken from events e where deliveries <>
         (select count(*) from (select entity_id, id from queue union all select entity_id, id from deliveries) d
          where d.entity_id = e.entity_id and substr(d.id, 1, 14) = substr(e.no, 1, 14))`,
    )
    .get() as { broken: number };
  return { events: new Set(events.map(({ id }) => id)), eventsWithoutAllDeliveries: broken };
}
