import { z } from 'zod';
import { MAX_NETWORK_ID } from '../domain/networks.ts';
import { MAX_WEBHOOKS_PER_CELL, postUrlSchema, type RegistrationRules, type Webhook } from './webhooks.ts';

/** The clock of the store that a file comes from may be ahead of ours by this much. */
const CLOCK_TOLERANCE_S = 3_600;

/** Written out, because the rules of its schema come from the settings. */
export type ImportedWebhook = Pick<Webhook, 'networkId' | 'event' | 'postUrl'> & {
  webhookId?: string | undefined;
  dateCreated?: number | undefined;
};

/** One line of an import: what registration demands, and the id and date that an exported webhook brings along. */
export function importedWebhookSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets' | 'events'>, nowS: number) {
  const networkRule = `must be a whole number from 0 to ${MAX_NETWORK_ID}`;
  const dateRule = 'must be Unix time in whole seconds and not in the future; leave it out for the present';
  return z.strictObject(
    {
      webhookId: z
        .string({ error: 'must be a string' })
        .regex(/^[A-Za-z0-9_-]{1,128}$/, { error: 'must be 1 to 128 letters, digits, - or _' })
        .optional(),
      networkId: z
        .int({ error: networkRule })
        .min(0, { error: networkRule })
        .max(MAX_NETWORK_ID, { error: networkRule }),
      event: z.enum(rules.events, { error: `must be one of ${rules.events.join(', ')} (names are case-sensitive)` }),
      postUrl: postUrlSchema(rules),
      // A date far ahead would be the date of every webhook after it, since dates never run backwards.
      dateCreated: z
        .int({ error: dateRule })
        .min(0, { error: dateRule })
        .max(nowS + CLOCK_TOLERANCE_S, { error: dateRule })
        .optional(),
    },
    { error: 'the line must be a JSON object' },
  );
}

export type NumberedWebhook = ImportedWebhook & { line: number };
export type Refusal = { line: number; reason: string };

/** What the store holds of that which a batch names. */
export type Stored = {
  newestDate: number;
  total: number;
  webhookIds: ReadonlySet<string>;
  registrations: ReadonlySet<string>;
  cells: ReadonlyMap<string, number>;
};

export const NOTHING_STORED: Stored = {
  newestDate: 0,
  total: 0,
  webhookIds: new Set(),
  registrations: new Set(),
  cells: new Map(),
};

export function registrationKey({
  networkId,
  event,
  postUrl,
}: Pick<Webhook, 'networkId' | 'event' | 'postUrl'>): string {
  return `${networkId} ${event} ${postUrl}`;
}

export function cellKey({ networkId, event }: Pick<Webhook, 'networkId' | 'event'>): string {
  return `${networkId} ${event}`;
}

/** Two stores seen as one. */
export function mergeStored(a: Stored, b: Stored): Stored {
  const cells = new Map(a.cells);
  for (const [key, webhooks] of b.cells) cells.set(key, (cells.get(key) ?? 0) + webhooks);
  return {
    newestDate: Math.max(a.newestDate, b.newestDate),
    total: a.total + b.total,
    webhookIds: new Set([...a.webhookIds, ...b.webhookIds]),
    registrations: new Set([...a.registrations, ...b.registrations]),
    cells,
  };
}

export type AcceptedWebhook = ImportedWebhook & { dateCreated: number };
export type SortedBatch = { accepted: AcceptedWebhook[]; existing: number; refused: Refusal[] };

/** Decides line by line, each seeing those before it: what is new, what was there, and what cannot be. */
export function sortBatch(
  batch: readonly NumberedWebhook[],
  stored: Stored,
  { entityWebhookLimit, nowS }: { entityWebhookLimit: number; nowS: number },
): SortedBatch {
  const sorted: SortedBatch = { accepted: [], existing: 0, refused: [] };
  const registrations = new Set(stored.registrations);
  const webhookIds = new Set(stored.webhookIds);
  const cells = new Map(stored.cells);
  let { newestDate, total } = stored;
  for (const { line, ...webhook } of batch) {
    if (registrations.has(registrationKey(webhook))) {
      sorted.existing++;
      continue;
    }
    const inCell = cells.get(cellKey(webhook)) ?? 0;
    const reason = idFault(webhook, webhookIds) ?? cellFault(webhook, inCell) ?? entityFault(total, entityWebhookLimit);
    if (reason !== null) {
      sorted.refused.push({ line, reason });
      continue;
    }
    newestDate = Math.max(newestDate, webhook.dateCreated ?? nowS);
    total++;
    registrations.add(registrationKey(webhook));
    cells.set(cellKey(webhook), inCell + 1);
    if (webhook.webhookId !== undefined) webhookIds.add(webhook.webhookId);
    sorted.accepted.push({ ...webhook, dateCreated: newestDate });
  }
  return sorted;
}

function idFault({ webhookId }: ImportedWebhook, taken: ReadonlySet<string>): string | null {
  if (webhookId === undefined || !taken.has(webhookId)) return null;
  return `webhookId ${webhookId} belongs to another registration of this entity; leave it out for a new one`;
}

function cellFault({ networkId, event }: ImportedWebhook, inCell: number): string | null {
  if (inCell < MAX_WEBHOOKS_PER_CELL) return null;
  return `network ${networkId} and ${event} have ${MAX_WEBHOOKS_PER_CELL} webhooks, the most there can be for one pair`;
}

function entityFault(total: number, limit: number): string | null {
  return total < limit ? null : `the entity has ${limit} webhooks, the most that ENTITY_WEBHOOK_LIMIT allows`;
}
