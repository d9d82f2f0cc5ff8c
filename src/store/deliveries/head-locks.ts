import { type Dialect, type Queries, type SqlValue, StoreUnavailableError } from '../database/database.ts';
import { byEntity, Columns, chunks, entityKey, integer, uuid, valuesList } from '../database/sql.ts';
import { byHeadKey, type HeadKey, nameOfHead } from './heads.ts';

/** Locks on heads, so that the order keys of deliveries fit the endpoint and the ordering of their webhook at the commit. */

/** A head has changed since the transaction read it, so the transaction must be repeated. */
export class HeadChangedError extends Error {
  override readonly name = 'HeadChangedError';

  constructor() {
    super('a webhook moved, or the ordering of its endpoint changed, during the transaction');
  }
}

const MOST_ATTEMPTS = 5;

/** Repeats a transaction that failed with `HeadChangedError`. After the last attempt, the error asks the caller to retry later. */
export async function repeatIfHeadChanged<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HeadChangedError)) throw error;
      if (attempts === MOST_ATTEMPTS) throw new StoreUnavailableError(error.message, { cause: error });
    }
  }
}

const scopeColumns = new Columns({
  entity: uuid('h.entity_id'),
  webhookNo: integer('h.webhook_no'),
  endpointNo: integer('h.endpoint_no'),
  ordering: integer('h.ordering'),
});

/**
 * Locks the heads in the order in which every statement locks them. Returns the endpoint and the ordering of each head, which
 * decide the order keys of its deliveries.
 */
export async function lockHeads(
  queries: Queries,
  dialect: Dialect,
  heads: readonly HeadKey[],
): Promise<Map<string, { readonly endpointNo: number; readonly isOrdered: boolean }>> {
  const found = new Map<string, { endpointNo: number; isOrdered: boolean }>();
  // SQLite has one writer, so the heads have not changed since they were read.
  if (dialect.lockRow === '') return found;
  const sorted = [...new Map(heads.map((head) => [nameOfHead(head), head])).values()].sort(byHeadKey);
  for (const chunk of byEntity(dialect, sorted).flatMap((some) => [...chunks(some)])) {
    const key = { entity_id: 'w.entity_id', webhook_no: 'w.webhook_no' };
    const rows = await scopeColumns.all(
      queries,
      `with wanted (entity_id, webhook_no) as (values ${valuesList(chunk.length, 2, 0, [dialect.uuid, 'bigint'])})
       select ${scopeColumns.list} from wanted w ${dialect.lookUp('cross join', 'queue_heads', 'h', key)}
       ${dialect.isDistributed ? 'order by h.webhook_no' : ''} ${dialect.lockRow} of h`,
      chunk.flatMap(({ entityId, webhookNo }): SqlValue[] => [entityKey(dialect, entityId), webhookNo]),
    );
    const entityOf = new Map(chunk.map(({ entityId }) => [dialect.hexOf(entityKey(dialect, entityId)), entityId]));
    for (const { entity, webhookNo, endpointNo, ordering } of rows) {
      const entityId = entityOf.get(dialect.hexOf(entity)) ?? '';
      found.set(nameOfHead({ entityId, webhookNo }), { endpointNo, isOrdered: ordering !== 0 });
    }
  }
  return found;
}

type ScopedHead = HeadKey & { readonly endpointNo: number; readonly isOrdered: boolean };

/** Locks heads until the commit. Fails if a head of `scoped` now has another endpoint or ordering than its order key was made for. */
export async function requireUnchangedHeads(
  queries: Queries,
  dialect: Dialect,
  scoped: readonly ScopedHead[],
  others: readonly HeadKey[],
): Promise<void> {
  if (scoped.length === 0) return;
  const locked = await lockHeads(queries, dialect, [...scoped, ...others]);
  const hasChanged = scoped.some((head) => {
    const now = locked.get(nameOfHead(head));
    return now !== undefined && (now.endpointNo !== head.endpointNo || now.isOrdered !== head.isOrdered);
  });
  if (hasChanged) throw new HeadChangedError();
}
