import { eventNumber } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import { Columns, chunks, entityKey, integer, nullable, text, uuid, valuesList } from '../../database/sql.ts';
import { joinKeys, type OrderKey, orderKeyOf, type Scope, type Subjects, subjectsOf } from '../order/order-keys.ts';

/**
 * Redeliveries of payments: they join the order key of their payment again, so that its next revision and its retraction
 * wait for them. The facts say which payment an event describes.
 */

/** A completed delivery that is about to return to the queue, with its place there. */
export type Rejoining = Scope & Subjects & { readonly entityId: string; readonly id: SqlUuid; readonly key: SqlUuid };

const idColumns = new Columns({ id: uuid('id'), webhookNo: integer('webhook_no') });

const factColumns = new Columns({
  eventNo: uuid('e.event_no'),
  factKey: text('e.fact_id'),
  agreementId: nullable(text('f.agreement_id')),
});

const headColumns = new Columns({
  webhookNo: integer('webhook_no'),
  endpointNo: integer('endpoint_no'),
  ordering: integer('ordering'),
});

/** The completed deliveries of payments among these, each with its key. */
export async function findRejoining(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  ids: readonly SqlUuid[],
): Promise<Rejoining[]> {
  const { hexOf, bindUuid } = dialect;
  const entity = entityKey(dialect, entityId);
  const found: Rejoining[] = [];
  for (const chunk of chunks(ids)) {
    const numbers = [...new Set(chunk.map((id) => eventNumber(hexOf(id))))];
    const facts = await factColumns.all(
      queries,
      `select ${factColumns.list} from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
       where e.entity_id = $1 and e.event_no in ${valuesList(1, numbers.length, 1)}`,
      [entityId, ...numbers.map(bindUuid)],
    );
    if (facts.length === 0) continue;
    const subjects = new Map(facts.map((fact) => [hexOf(fact.eventNo), subjectsOf(dialect, fact)]));
    const completed = await idColumns.all(
      queries,
      `select ${idColumns.list} from deliveries where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk],
    );
    const webhookNos = [...new Set(completed.map(({ webhookNo }) => webhookNo))];
    if (webhookNos.length === 0) continue;
    const heads = await headColumns.all(
      queries,
      `select ${headColumns.list} from queue_heads
       where entity_id = $1 and webhook_no in ${valuesList(1, webhookNos.length, 1)}`,
      [entity, ...webhookNos],
    );
    const scopes = new Map(heads.map((head) => [head.webhookNo, { ...head, isOrdered: head.ordering !== 0 }]));
    for (const { id, webhookNo } of completed) {
      const about = subjects.get(eventNumber(hexOf(id)));
      const scope = scopes.get(webhookNo);
      const key = about === undefined || scope === undefined ? null : orderKeyOf(dialect, about, scope);
      if (about === undefined || scope === undefined || key === null) continue;
      found.push({ entityId, id, key, ...about, ...scope });
    }
  }
  return found;
}

export function keysOf(dialect: Dialect, rejoining: readonly Rejoining[]): OrderKey[] {
  return rejoining.map(({ entityId, key }) => ({ entity: entityKey(dialect, entityId), key }));
}

/** Locks the keys; `writePlaces` writes the places once the deliveries are in the queue. */
export function takePlaces(queries: Queries, dialect: Dialect, rejoining: readonly Rejoining[]) {
  return joinKeys(queries, dialect, rejoining);
}

/** A delivery that another redelivery has queued since keeps the place that it has. */
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
