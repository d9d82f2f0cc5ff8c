import {
  FINALITY_APPLIES_TO,
  type ReplacedWebhookOptions,
  type WebhookOptions,
  type WebhookOptionsReplacement,
} from '../../contract/webhooks/options.ts';
import type { Database } from '../database/database.ts';
import { type Change, recordChange } from '../tenants/audit.ts';
import { assignFilter, isSameFilter } from './filters.ts';
import { noteOptions } from './option-changes.ts';
import { lockEntity } from './register.ts';
import {
  assignFinality,
  effectiveFinality,
  readStoredOptions,
  requireAllowed,
  type StoredOptions,
} from './stored-options.ts';

/** The options of a webhook, apart from the five fields that lists show. Returns null when there is no such webhook. */
export function readOptions(db: Database, entityId: string, webhookId: string): Promise<WebhookOptions | null> {
  return db.snapshot(async (queries) => {
    const [found] = await readStoredOptions(queries, entityId, [webhookId]);
    return found === undefined ? null : shownOptions(found);
  }, entityId);
}

/** For events that are accepted from the commit on; deliveries that exist are sent as they are. */
export function replaceOptions(
  db: Database,
  entityId: string,
  webhookId: string,
  { filter, finality = null }: WebhookOptionsReplacement,
  change: Change,
): Promise<ReplacedWebhookOptions | null> {
  return db.transaction(async (queries) => {
    await lockEntity(queries, entityId, 0, change.nowS);
    const [found] = await readStoredOptions(queries, entityId, [webhookId]);
    if (found === undefined) return null;
    requireAllowed([found], finality, false);
    const before = shownOptions(found);
    const after = { finality: effectiveFinality(found.event, finality), filter };
    const isFiltered = isSameFilter(before.filter, after.filter);
    if (isFiltered && before.finality === after.finality) return before;
    await noteOptions(queries, db.dialect, entityId, [found]);
    if (!isFiltered) await assignFilter(queries, entityId, [found], filter);
    if (before.finality !== after.finality) await assignFinality(queries, entityId, [found], finality);
    await recordChange(queries, entityId, change, {
      action: 'webhook.updated',
      target: webhookId,
      before: { options: before },
      after: { options: after },
    });
    return before.finality === after.finality ? after : { ...after, appliesTo: FINALITY_APPLIES_TO };
  });
}

function shownOptions({ finality, filter }: StoredOptions): WebhookOptions {
  return { finality, filter };
}
