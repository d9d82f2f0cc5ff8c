import { parseBody } from '../../contract/parse-input.ts';
import type { ImportedEndpoint, importedEndpointSchema, importedWebhookSchema } from '../../contract/webhook-import.ts';
import { WEBHOOK_FIELDS } from '../../contract/webhooks/fields.ts';
import type { ImportedWebhook } from '../../domain/webhook-import.ts';
import type { ExportedEndpoint } from '../../store/endpoints/transfer.ts';
import type { ExportedWebhook } from '../../store/webhooks/export.ts';
import { CommandError } from '../terminal/command-error.ts';
import { parseCsvLine, toCsvLine } from './csv.ts';

/** The file formats of export and import: JSON Lines, and CSV with a header. */
export const WEBHOOK_FORMATS = ['jsonl', 'csv'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

export function headerOf(format: WebhookFormat): string {
  return format === 'csv' ? `${toCsvLine(WEBHOOK_FIELDS)}\n` : '';
}

/** In CSV, a field without a value is an empty cell, as the reader expects. CSV has no options. */
export function writeWebhook(webhook: ExportedWebhook, format: WebhookFormat): string {
  if (format === 'jsonl') return `${JSON.stringify(webhook)}\n`;
  return `${toCsvLine(WEBHOOK_FIELDS.map((field) => String(webhook[field] ?? '')))}\n`;
}

/** Writes the settings of an endpoint, as a separate line after the webhooks of its URL. Only for JSON Lines. */
export function writeEndpoint(endpoint: ExportedEndpoint): string {
  return `${JSON.stringify({ endpoint })}\n`;
}

export type ReadLine =
  | { ok: true; webhook: ImportedWebhook }
  | { ok: true; endpoint: ImportedEndpoint }
  | { ok: false; reason: string };

/** Null for a line that is not a record: a blank line or the header. */
export type WebhookReader = (text: string) => ReadLine | null;

type Schema = ReturnType<typeof importedWebhookSchema>;
type Schemas = { webhook: Schema; endpoint: ReturnType<typeof importedEndpointSchema> };

export function webhookReader(format: WebhookFormat, schemas: Schemas): WebhookReader {
  return format === 'jsonl' ? jsonReader(schemas) : csvReader(schemas.webhook);
}

function jsonReader({ webhook, endpoint }: Schemas): WebhookReader {
  return (text) => {
    if (text.trim() === '') return null;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { ok: false, reason: 'is not valid JSON' };
    }
    if (typeof value !== 'object' || value === null || !('endpoint' in value)) return check(webhook, value);
    const parsed = parseBody(endpoint, value);
    return parsed.ok ? { ok: true, endpoint: parsed.value.endpoint } : { ok: false, reason: reasonOf(parsed.errors) };
  };
}

function csvReader(schema: Schema): WebhookReader {
  let columns: readonly string[] | null = null;
  return (text) => {
    if (text.trim() === '') return null;
    const cells = parseCsvLine(text);
    if (columns === null) {
      columns = checkColumns(cells);
      return null;
    }
    if (cells === null) return { ok: false, reason: 'is not valid CSV: a quote is misplaced or not closed' };
    if (cells.length !== columns.length) {
      return { ok: false, reason: `has ${cells.length} values, but the header names ${columns.length}` };
    }
    return check(schema, toRecord(columns, cells));
  };
}

const NUMERIC: ReadonlySet<string> = new Set(['networkId', 'dateCreated']);

/** A number with anything but digits stays text, which the schema rejects with its own message. */
function toRecord(columns: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const filled = columns
    .map((column, index) => [column, cells[index] ?? ''] as const)
    .filter(([, cell]) => cell !== '');
  return Object.fromEntries(
    filled.map(([column, cell]) => [column, NUMERIC.has(column) && /^[0-9]{1,16}$/.test(cell) ? Number(cell) : cell]),
  );
}

function checkColumns(cells: readonly string[] | null): readonly string[] {
  const known: readonly string[] = WEBHOOK_FIELDS;
  const named = new Set(cells ?? []);
  const onceEach = named.size === cells?.length && [...named].every((column) => known.includes(column));
  if (onceEach && ['networkId', 'event', 'postUrl'].every((column) => named.has(column))) return [...named];
  throw new CommandError(
    `the first line of a CSV file must name its columns: networkId, event and postUrl, and optionally webhookId and ` +
      `dateCreated; for example ${toCsvLine(WEBHOOK_FIELDS)}`,
  );
}

function check(schema: Schema, value: unknown): ReadLine {
  const parsed = parseBody(schema, value);
  if (parsed.ok) return { ok: true, webhook: parsed.value };
  return { ok: false, reason: reasonOf(parsed.errors) };
}

function reasonOf(errors: readonly { name: string; message: string }[]): string {
  return errors.map(({ name, message }) => `${name} ${message}`.trim()).join('; ');
}
