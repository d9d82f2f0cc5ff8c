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
  isSameFinality,
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

/** Replaces the options for events that are accepted after the commit. Existing deliveries are sent unchanged. */
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
    const isSame = {
      filter: isSameFilter(before.filter, after.filter),
      finality: isSameFinality(before.finality, after.finality),
    };
    if (isSame.filter && isSame.finality) return before;
    await noteOptions(queries, db.dialect, entityId, [found]);
    if (!isSame.filter) await assignFilter(queries, entityId, [found], filter);
    if (!isSame.finality) await assignFinality(queries, entityId, [found], finality);
    await recordChange(queries, entityId, change, {
      action: 'webhook.updated',
      target: webhookId,
      before: { options: before },
      after: { options: after },
    });
    return isSame.finality ? after : { ...after, appliesTo: FINALITY_APPLIES_TO };
  });
}

function shownOptions({ finality, filter }: StoredOptions): WebhookOptions {
  return { finality, filter };
}
