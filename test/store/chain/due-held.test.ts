import { expect, test } from 'bun:test';
import { readDueHeld } from '../../../src/store/chain/held/due.ts';
import { chunks, valuesList } from '../../../src/store/database/sql.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const HEAD = 100;
/** Entities that one poll looks at, and events that it returns. */
const [MAX_HOLDERS, MAX_HELD] = [1_000, 50];
/** Rows that one poll may read: the entities, and some events of the first ones. */
const MAX_ROWS = MAX_HOLDERS + 400;
let lastNetworkId = 70_000;

type Held = { readonly entity: number; readonly nextAskBlock?: number; readonly askedAtMs?: number };

onSuiteEngine('held events that are due', (store) => {
  const entityIdOf = (networkId: number, entity: number) => `held_${networkId}_${String(entity).padStart(6, '0')}`;

  /** A network with these events that wait for a transaction. Their ids are their places in the list. */
  async function holding(held: readonly Held[]): Promise<number> {
    const networkId = ++lastNetworkId;
    const entities = [...new Set(held.map(({ entity }) => entityIdOf(networkId, entity)))];
    await store.db.transaction(async (queries) => {
      for (const chunk of chunks(entities)) {
        const sql = `insert into entities (id, name, created_at) values ${valuesList(chunk.length, 3)}`;
        await queries.run(
          sql,
          chunk.flatMap((id) => [id, id, 1]),
        );
      }
      for (const chunk of chunks(held.map((one, place) => ({ ...one, place })))) {
        await queries.run(
          `insert into facts (entity_id, id, network_id, state, revision, kind, is_silent, transaction_hash, fields,
             next_ask_block, asked_at_ms, created_at_ms, changed_at_ms) values ${valuesList(chunk.length, 13)}`,
          chunk.flatMap(({ entity, nextAskBlock = 0, askedAtMs = null, place }) => [
            ...[entityIdOf(networkId, entity), `fct_${String(place).padStart(26, '0')}`, networkId, 'waiting', 1],
            ...['TransferProcessed', 0, `0x${place}`, '{}', nextAskBlock, askedAtMs, 1, 1],
          ]),
        );
      }
    });
    return networkId;
  }

  /** The entities of the events in their order, where the next poll continues, and the rows that were read. */
  async function read(networkId: number, after = '') {
    let rows = 0;
    const all = async <Row>(...given: Parameters<typeof store.db.all>) => {
      const found = await store.db.all<Row>(...given);
      rows += found.length;
      return found;
    };
    const { facts, nextAfter } = await readDueHeld({ all }, { networkId, head: HEAD, after });
    const entities = facts.map(({ entityId }) => Number(entityId.split('_').at(-1)));
    return { entities, ids: facts.map(({ factId }) => Number(factId.slice(4))), nextAfter, rows };
  }

  test('come in turns of the entities, first of the entity that waited longest', async () => {
    const networkId = await holding([
      ...[{ entity: 1 }, { entity: 1 }, { entity: 1, askedAtMs: 9, nextAskBlock: HEAD + 1 }],
      ...[{ entity: 2, askedAtMs: 5 }, { entity: 2 }],
      { entity: 3 },
    ]);
    expect((await read(networkId)).entities).toEqual([3, 2, 1, 2, 1, 1]);
  });

  test('are those before the next block, and those whose wait is from before the head went back', async () => {
    const waits = [0, HEAD, HEAD + 1, HEAD + 2, HEAD + 8, HEAD + 9, HEAD + 500];
    const networkId = await holding(waits.map((nextAskBlock) => ({ entity: 1, nextAskBlock })));
    expect((await read(networkId)).ids).toEqual([0, 1, 2, 5, 6]);
    expect((await read(await holding([{ entity: 1, nextAskBlock: HEAD + 2 }]))).ids).toEqual([]);
  });

  test('take a bounded number of rows, however many events entities hold', async () => {
    const flood = Array.from({ length: 3_000 }, (_, n) => ({ entity: 1 + (n % 3) }));
    const networkId = await holding([...flood, { entity: 9 }]);
    const { entities, rows, nextAfter } = await read(networkId);
    expect(entities.slice(0, 4).sort()).toEqual([1, 2, 3, 9]);
    expect(entities).toHaveLength(MAX_HELD);
    expect(rows).toBeLessThan(MAX_ROWS);
    expect(nextAfter).toBe('');
  });

  test('of more entities than one poll looks at come in the next poll', async () => {
    const networkId = await holding(Array.from({ length: MAX_HOLDERS + 7 }, (_, entity) => ({ entity })));
    const { entities, nextAfter, rows } = await read(networkId);
    expect(entities).toHaveLength(MAX_HELD);
    expect(rows).toBeLessThanOrEqual(MAX_ROWS);
    const rest = await read(networkId, nextAfter);
    expect(rest.entities).toEqual(Array.from({ length: 7 }, (_, n) => MAX_HOLDERS + n));
    expect(rest.nextAfter).toBe('');
  });
});
