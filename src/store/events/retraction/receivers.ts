import { RETRACTION } from '../../../domain/event-kinds.ts';
import type { DestinationKey } from '../../../domain/post-url.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, entityKey, integer, nullable, type RowOf, text } from '../../database/sql.ts';
import { BLOCKED, makeHeads } from '../../deliveries/heads.ts';
import { retractionHeadNo } from '../../deliveries/retraction-heads.ts';
import { REVISION } from '../../tenants/tables.ts';
import type { Receiver } from '../acceptance.ts';
import type { EventTask } from '../fan-out-task.ts';

const headColumns = new Columns({
  webhookNo: integer('webhook_no'),
  webhookId: text('webhook_id'),
  networkId: integer('network_id'),
  postUrl: text('post_url'),
  destination: text<DestinationKey>('destination'),
  endpointNo: integer('endpoint_no'),
  ordering: integer('ordering'),
  blocked: integer('blocked'),
  generation: integer('generation'),
  failingSinceMs: nullable(integer('failing_since_ms')),
});

async function readHeads(
  queries: Queries,
  entity: SqlUuid,
  webhookNos: readonly number[],
): Promise<RowOf<typeof headColumns>[]> {
  const from = 'from queue_heads where entity_id = $1 and webhook_no in';
  const found = await headColumns.allIn(queries, from, [entity], webhookNos);
  return found.filter(({ blocked }) => (blocked & BLOCKED.deleted) === 0);
}

/** The webhooks that may have received the event, each with the head of its retractions. Creates missing heads. */
export async function findReceiversOf(
  queries: Queries,
  dialect: Dialect,
  { entityId }: EventTask,
  received: readonly { readonly webhookNo: number }[],
  nowMs: number,
): Promise<Receiver[]> {
  const entity = entityKey(dialect, entityId);
  const webhookNos = [...new Set(received.map(({ webhookNo }) => webhookNo))];
  const readOwn = () => readHeads(queries, entity, webhookNos.map(retractionHeadNo));
  let own = await readOwn();
  if (own.length < webhookNos.length) {
    await makeMissing(queries, dialect, entityId, webhookNos, nowMs);
    own = await readOwn();
  }
  if (own.length === 0) return [];
  const revision = await queries.get<{ value: number | string }>(
    `select ${REVISION} as value from entities where id = $1`,
    [entityId],
  );
  return own.map((head) => ({
    ...head,
    isOrdered: head.ordering !== 0,
    isBlocked: head.blocked !== 0,
    revision: Number(revision?.value ?? 0),
    registryRevision: 0,
    filterHash: null,
    finality: null,
  }));
}

/**
 * Locks the entity first: a change of a webhook also changes the head of its retractions, if there is one. Keys and heads are
 * locked after the entity, as in every change of a webhook.
 */
async function makeMissing(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  webhookNos: readonly number[],
  nowMs: number,
): Promise<void> {
  // The lock is an update, because a `for update` could wait for an acceptance that holds keys: a held event's fact refers to the
  // entity.
  await queries.run('update entities set revision = revision where id = $1', [entityId]);
  const heads = await readHeads(queries, entityKey(dialect, entityId), webhookNos);
  if (heads.length === 0) return;
  const targets = heads.map((head) => ({
    ...{ entityId, webhookNo: retractionHeadNo(head.webhookNo), webhookId: head.webhookId, postUrl: head.postUrl },
    ...{ networkId: head.networkId, event: RETRACTION, isSuspended: (head.blocked & BLOCKED.suspended) !== 0 },
  }));
  await makeHeads(queries, dialect, targets, nowMs);
}
