import type { WebhookOptions } from '../../contract/webhooks/options.ts';
import type { Database } from '../database/database.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { assignFilter, isSameFilter, readFilters } from './filters.ts';
import { lockEntity } from './register.ts';

/** The options of a webhook, apart from the five fields that lists show. Returns null when there is no such webhook. */
export function readOptions(db: Database, entityId: string, webhookId: string): Promise<WebhookOptions | null> {
  return db.snapshot(async (queries) => {
    const [found] = await readFilters(queries, entityId, [webhookId]);
    return found === undefined ? null : { filter: found.filter };
  });
}

/** For events that are accepted from the commit on; deliveries that exist are sent as they are. */
export function replaceOptions(
  db: Database,
  entityId: string,
  webhookId: string,
  options: WebhookOptions,
  change: Change,
): Promise<WebhookOptions | null> {
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const [found] = await readFilters(queries, entityId, [webhookId]);
    if (found === undefined) return null;
    const before = { filter: found.filter };
    if (isSameFilter(found.filter, options.filter)) return before;
    await assignFilter(queries, entityId, [found], options.filter);
    await recordChange(queries, entityId, change, {
      action: 'webhook.updated',
      target: webhookId,
      before: { options: before },
      after: { options },
    });
    return options;
  });
}
