import { expect, test } from 'bun:test';
import { eventListQuerySchema } from '../../../../src/contract/deliveries.ts';
import { MIGRATIONS, migrate } from '../../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { entityKey } from '../../../../src/store/database/sql.ts';
import { listEvents } from '../../../../src/store/events/read.ts';
import { newId } from '../../../../src/store/new-id.ts';
import { readStats } from '../../../../src/store/stats/read.ts';
import { createTarget, ENGINES } from '../../../support/stores.ts';

const MIDNIGHT_S = 1_763_164_800;
const UNMATCHED = newId('ent');
const A = 'https://a.example.com:443';

/** Two deliveries to one destination in different hours, of which one was delivered, as version 12 stored them. */
const STORED = [
  { seconds: 60, startS: MIDNIGHT_S, slots: { '-3': 1, '-1': 1 } },
  { seconds: 60, startS: MIDNIGHT_S + 7_200, slots: { '-3': 1, '-1': 1, '20': 1 } },
  { seconds: 3_600, startS: MIDNIGHT_S, slots: { '-3': 1, '-1': 1 } },
  { seconds: 3_600, startS: MIDNIGHT_S + 7_200, slots: { '-3': 1, '-1': 1, '20': 1 } },
  { seconds: 86_400, startS: MIDNIGHT_S, slots: { '-3': 2, '-1': 2, '20': 1 } },
];

test.each([...ENGINES])(
  'statistics and unmatched events of schema version 12 are the same after the upgrade, on %s',
  async (engine) => {
    const { target, remove } = await createTarget(engine);
    const db = await openDatabase(target);
    await migrate(
      db,
      MIGRATIONS.filter(({ version }) => version <= 12),
    );
    // One id as Paybell makes them, and one of an import.
    const entities = [newId('ent'), 'shop-7'];
    await db.transaction(async (queries) => {
      for (const [index, deliveries] of [0, 1, 0].entries()) {
        const no = db.dialect.bindUuid(String(index).padStart(32, '0'));
        await queries.run(
          `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, body) values ($1, $2, 1, 1, $3, 'Paid', '{}')`,
          [entityKey(db.dialect, UNMATCHED), no, deliveries],
        );
      }
      for (const entityId of entities) {
        for (const { seconds, startS, slots } of STORED) {
          for (const [slot, total] of Object.entries(slots)) {
            for (const destination of slot === '-3' ? [''] : ['', A]) {
              await queries.run(
                'insert into stats (entity_id, seconds, destination, start_s, slot, total) values ($1, $2, $3, $4, $5, $6)',
                [entityId, seconds, destination, startS, Number(slot), total],
              );
            }
          }
        }
      }
    });
    await migrate(db);
    expect((await listEvents(db, UNMATCHED, eventListQuerySchema.parse({ matched: 'false' }))).totalResults).toBe(2);
    for (const entityId of entities) {
      const read = (intervalS: number, destination?: string) =>
        readStats(db, entityId, { intervalS, startS: MIDNIGHT_S, endS: MIDNIGHT_S + 86_400 }, destination);
      const figures = { accepted: 2, delivered: 1 };
      for (const intervalS of [60, 3_600, 86_400]) {
        const stats = await read(intervalS);
        expect(stats.total).toMatchObject({ events: 2, ...figures });
        expect(stats.destinations).toMatchObject([{ destination: A, ...figures }]);
        expect(stats.intervals.find(({ dateStart }) => dateStart === MIDNIGHT_S)?.events).toBe(
          intervalS < 86_400 ? 1 : 2,
        );
      }
      const hours = await read(3_600, A);
      expect(hours.intervals.map(({ accepted }) => accepted).slice(0, 3)).toEqual([1, 0, 1]);
    }
    await db.close();
    remove();
  },
);
