import { eventNumber } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import { Columns, chunks, entityKey, nullable, text, uuid, valuesList } from '../../database/sql.ts';
import { joinKeys, type OrderKey, orderKeyOf, type Scope, type Subjects, subjectsOf } from '../order/order-keys.ts';
import { deliveryTable, headTable } from '../tables.ts';

/**
 * Redeliveries of payments join the order key of their payment again, so that the payment's next revision and its retraction wait
 * for them. The facts say which payment an event describes.
 */

/** A completed delivery that is about to return to the queue, with its place there. */
export type Rejoining = Scope & Subjects & { readonly entityId: string; readonly id: SqlUuid; readonly key: SqlUuid };

const idColumns = deliveryTable.pick(['id', 'webhookNo']);

const factColumns = new Columns({
  eventNo: uuid('e.event_no'),
  factKey: text('e.fact_id'),
  agreementId: nullable(text('f.agreement_id')),
});

const headColumns = headTable.pick(['webhookNo', 'endpointNo', 'ordering']);

/** Finds the completed deliveries of payments among these ids, each with its order key. */
export async function findRejoining(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  ids: readonly SqlUuid[],
): Promise<Rejoining[]> {
  const { hexOf, bindUuid } = dialect;
  const entity = entityKey(dialect, entityId);
  const numbers = [...new Set(ids.map((id) => eventNumber(hexOf(id))))].map(bindUuid);
  const paid = 'from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id';
  const facts = await factColumns.allIn(
    queries,
    `${paid} where e.entity_id = $1 and e.event_no in`,
    [entityId],
    numbers,
  );
  if (facts.length === 0) return [];
  const subjects = new Map(facts.map((fact) => [hexOf(fact.eventNo), subjectsOf(dialect, fact)]));
  const completed = await idColumns.allIn(queries, 'from deliveries where entity_id = $1 and id in', [entity], ids);
  const webhookNos = completed.map(({ webhookNo }) => webhookNo);
  const ofHeads = 'from queue_heads where entity_id = $1 and webhook_no in';
  const heads = await headColumns.allIn(queries, ofHeads, [entity], webhookNos);
  const scopes = new Map(heads.map((head) => [head.webhookNo, { ...head, isOrdered: head.ordering !== 0 }]));
  return completed.flatMap(({ id, webhookNo }) => {
    const about = subjects.get(eventNumber(hexOf(id)));
    const scope = scopes.get(webhookNo);
    const key = about === undefined || scope === undefined ? null : orderKeyOf(dialect, about, scope);
    return about === undefined || scope === undefined || key === null ? [] : { entityId, id, key, ...about, ...scope };
  });
}

export function keysOf(dialect: Dialect, rejoining: readonly Rejoining[]): OrderKey[] {
  return rejoining.map(({ entityId, key }) => ({ entity: entityKey(dialect, entityId), key }));
}

/** Locks the keys; `writePlaces` writes the places once the deliveries are in the queue. */
export function takePlaces(queries: Queries, dialect: Dialect, rejoining: readonly Rejoining[]) {
  return joinKeys(queries, dialect, rejoining);
}

/** Writes the places of deliveries that are in the queue now. A delivery that another redelivery has queued first keeps its place. */
export async function writePlaces(
  queries: Queries,
  dialect: Dialect,
  places: Awaited<ReturnType<typeof takePlaces>>,
): Promise<void> {
  const types = [dialect.uuid, dialect.uuid, dialect.uuid, 'bigint', dialect.uuid, dialect.uuid, 'bigint'];
  for (const chunk of chunks([...places])) {
    await queries.run(
      `with placed (entity_id, id, order_key, turn, agreement_hash, payment_hash, is_parked) as
         (values ${valuesList(chunk.length, types.length, 0, types)})
       update queue set order_key = placed.order_key, turn = placed.turn, agreement_hash = placed.agreement_hash,
         payment_hash = placed.payment_hash, generation = case when placed.is_parked = 1 then null else generation end
       from placed where queue.entity_id = placed.entity_id and queue.id = placed.id and queue.recorded is not null
         and queue.order_key is null${dialect.ofEntity('queue')}`,
      chunk.flatMap(([{ entityId, id, key, agreement, payment }, { turn, isParked }]): SqlValue[] => [
        ...[entityKey(dialect, entityId), id, key, turn, agreement, payment, isParked ? 1 : 0],
      ]),
    );
  }
}
