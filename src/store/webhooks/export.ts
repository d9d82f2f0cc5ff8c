import type { NewWebhookOptions } from '../../contract/webhooks/options.ts';
import type { Webhook } from '../../contract/webhooks.ts';
import { defaultFinality } from '../../domain/chain/finality.ts';
import { type Database, longReadsOf } from '../database/database.ts';
import { readInteger } from '../database/sql.ts';
import { SEQUENCED_WEBHOOK, withoutSequence } from './list.ts';
import { readStoredOptions, type StoredOptions } from './stored-options.ts';

const PAGE_ROWS = 1_000;

/**
 * All webhooks of an entity in the order of their creation, a page at a time. The walk ends with the webhook that was the newest
 * at the start.
 */
export async function* walkWebhooks(
  db: Database,
  entityId: string,
  pageRows = PAGE_ROWS,
): AsyncGenerator<readonly Webhook[]> {
  const lastSeq = await readInteger(
    longReadsOf(db, entityId),
    'max(created_seq)',
    'from webhooks where entity_id = $1',
    [entityId],
  );
  let seq = 0;
  while (seq < lastSeq) {
    const rows = await SEQUENCED_WEBHOOK.all(
      longReadsOf(db, entityId),
      `select ${SEQUENCED_WEBHOOK.list} from webhooks
       where entity_id = $1 and created_seq > $2 and created_seq <= $3 order by created_seq limit $4`,
      [entityId, seq, lastSeq, pageRows],
    );
    // If the newest webhook was deleted since the start, no row is left before the end.
    seq = rows.at(-1)?.createdSeq ?? lastSeq;
    if (rows.length > 0) yield rows.map(withoutSequence);
  }
}

/** A webhook with its options, without defaults. */
export type ExportedWebhook = Webhook & { options?: NewWebhookOptions };

export async function* walkExport(db: Database, entityId: string): AsyncGenerator<readonly ExportedWebhook[]> {
  for await (const page of walkWebhooks(db, entityId)) {
    const ids = page.map(({ webhookId }) => webhookId);
    const stored = await readStoredOptions(longReadsOf(db, entityId), entityId, ids);
    const options = new Map(stored.map((webhook) => [webhook.webhookId, ownOptions(webhook)]));
    // A webhook that was deleted since is left out: without its options, an import would register it for every payload.
    yield page.flatMap((webhook) => {
      const own = options.get(webhook.webhookId);
      if (own === undefined) return [];
      return own === null ? webhook : { ...webhook, options: own };
    });
  }
}

function ownOptions({ event, filter, finality }: StoredOptions): NewWebhookOptions | null {
  const own = {
    ...(finality !== defaultFinality(event) && { finality }),
    ...(filter !== null && { filter }),
  };
  return Object.keys(own).length === 0 ? null : own;
}
