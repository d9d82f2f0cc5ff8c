import { defaultFinality } from '../../domain/chain/finality.ts';
import {
  allowsFinality,
  levelsText,
  mostConfirmations,
  type WebhookFinality,
  webhookFinalityOf,
  webhookFinalityText,
} from '../../domain/chain/finality-by-amount.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Queries } from '../database/database.ts';
import { chunks, Parameters } from '../database/sql.ts';
import { webhookTable } from '../tables.ts';
import { type FilteredWebhook, readFilters } from './filters.ts';

/**
 * The options of webhooks as they are stored. The default finality of a kind is stored as null, even if it was
 * requested by name, so that two webhooks with the same finality have the same value. All writes are under the entity
 * lock.
 */

type WebhookOfKind = { readonly webhookId: string; readonly event: string };

/** The finality that a webhook gets. Null asks for the default of the kind. */
export function effectiveFinality(event: string, asked: WebhookFinality | null): WebhookFinality {
  return asked === null ? defaultFinality(event) : webhookFinalityOf(webhookFinalityText(asked));
}

export function isSameFinality(a: WebhookFinality, b: WebhookFinality): boolean {
  return webhookFinalityText(a) === webhookFinalityText(b);
}

type StoredFinality = WebhookOfKind & { readonly finality: WebhookFinality };

export type StoredOptions = FilteredWebhook & StoredFinality;

/** Options of the given webhooks, as far as the webhooks exist. */
export async function readStoredOptions(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  webhookIds: readonly string[],
): Promise<StoredOptions[]> {
  const filters = await readFilters(queries, entityId, webhookIds);
  const finalities = await readFinalities(queries, entityId, webhookIds);
  const byId = new Map(finalities.map((webhook) => [webhook.webhookId, webhook]));
  return filters.flatMap((filtered) => {
    const found = byId.get(filtered.webhookId);
    return found === undefined ? [] : [{ ...filtered, ...found }];
  });
}

const STORED = webhookTable.pick(['webhookId', 'event', 'finality']);

async function readFinalities(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  webhookIds: readonly string[],
): Promise<StoredFinality[]> {
  const rows = await STORED.allIn(queries, 'from webhooks where entity_id = $1 and id in', [entityId], webhookIds);
  return rows.map(({ webhookId, event, finality }) => {
    const asked = finality === null ? null : webhookFinalityOf(finality);
    return { webhookId, event, finality: effectiveFinality(event, asked) };
  });
}

export async function assignFinality(
  queries: Queries,
  entityId: string,
  webhooks: readonly WebhookOfKind[],
  asked: WebhookFinality | null,
): Promise<void> {
  const groups = Map.groupBy(webhooks, ({ event }) => asked === null || asked === defaultFinality(event));
  for (const [isDefault, group] of groups) {
    const stored = isDefault || asked === null ? NO_FINALITY : storedFinality(asked);
    for (const chunk of chunks(group)) {
      const parameters = new Parameters(...stored);
      const where = webhookTable.where(parameters, { entityId, webhookId: chunk.map(({ webhookId }) => webhookId) });
      await queries.run(
        `update webhooks set finality = $1, finality_levels = $2, most_confirmations = $3 where ${where}`,
        parameters.values,
      );
    }
  }
}

const NO_FINALITY = [null, null, null] as const;

/** The finality, its levels and the most confirmations among them. */
function storedFinality(asked: WebhookFinality): readonly [string, string, number] {
  return [webhookFinalityText(asked), levelsText(asked), mostConfirmations(asked)];
}

/** `isBulk` is true for a change of all webhooks that match, and false for a change of a named webhook. */
export function requireAllowed(
  webhooks: readonly WebhookOfKind[],
  asked: WebhookFinality | null,
  isBulk: boolean,
): void {
  if (asked === null) return;
  const refused = webhooks.find(({ event }) => !allowsFinality(event, asked));
  if (refused !== undefined) throw new DomainError('finality_not_allowed', { event: refused.event, isBulk });
}
