import type { WebhookFinality } from './chain/finality-by-amount.ts';
import type { PayloadFilter } from './payload-filter/payload-filter.ts';

/** Decides which lines an import registers: one batch at a time, compared with the stored webhooks. */

export type ImportedWebhook = {
  webhookId?: string | undefined;
  networkId: number;
  event: string;
  postUrl: string;
  dateCreated?: number | undefined;
  options?: { finality?: WebhookFinality | null | undefined; filter?: PayloadFilter | null | undefined } | undefined;
};

export type NumberedWebhook = ImportedWebhook & { line: number };
export type AcceptedWebhook = ImportedWebhook & { dateCreated: number };
export type Refusal = { line: number; reason: string };

/** The stored data about everything that a batch mentions. */
export type Stored = {
  newestDate: number;
  total: number;
  webhookIds: ReadonlySet<string>;
  registrations: ReadonlySet<string>;
  /** Webhooks for each network and event. */
  cells: ReadonlyMap<string, number>;
};

export const NOTHING_STORED: Stored = {
  newestDate: 0,
  total: 0,
  webhookIds: new Set(),
  registrations: new Set(),
  cells: new Map(),
};

export function registrationKey({ networkId, event, postUrl }: ImportedWebhook): string {
  return `${networkId} ${event} ${postUrl}`;
}

export function cellKey({ networkId, event }: Pick<ImportedWebhook, 'networkId' | 'event'>): string {
  return `${networkId} ${event}`;
}

/** The contents of two stores taken together. */
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

export type ImportRules = { entityWebhookLimit: number; cellLimit: number; nowS: number };
export type SortedBatch = { accepted: AcceptedWebhook[]; existing: number; refused: Refusal[] };

/** Sorts the lines into new, existing and rejected lines. Compares each line also with the lines before it. */
export function sortBatch(batch: readonly NumberedWebhook[], stored: Stored, rules: ImportRules): SortedBatch {
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
    const reason =
      idError(webhook, webhookIds) ??
      cellError(webhook, inCell, rules.cellLimit) ??
      entityError(total, rules.entityWebhookLimit);
    if (reason !== null) {
      sorted.refused.push({ line, reason });
      continue;
    }
    newestDate = Math.max(newestDate, webhook.dateCreated ?? rules.nowS);
    total++;
    registrations.add(registrationKey(webhook));
    cells.set(cellKey(webhook), inCell + 1);
    if (webhook.webhookId !== undefined) webhookIds.add(webhook.webhookId);
    sorted.accepted.push({ ...webhook, dateCreated: newestDate });
  }
  return sorted;
}

function idError({ webhookId }: ImportedWebhook, taken: ReadonlySet<string>): string | null {
  if (webhookId === undefined || !taken.has(webhookId)) return null;
  return `webhookId ${webhookId} belongs to another registration of this entity; leave it out to get a new one`;
}

function cellError({ networkId, event }: ImportedWebhook, inCell: number, limit: number): string | null {
  if (inCell < limit) return null;
  return `network ${networkId} and ${event} have ${limit} webhooks, which is the limit for one network and event`;
}

function entityError(total: number, limit: number): string | null {
  return total < limit ? null : `the entity has ${limit} webhooks, which is the limit set by ENTITY_WEBHOOK_LIMIT`;
}
