import { stat } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { type Config, knownEvents } from '../../config.ts';
import { importedEndpointSchema, importedWebhookSchema } from '../../contract/webhook-import.ts';
import { headerNameError } from '../../domain/endpoints/request-headers.ts';
import { showCount } from '../../domain/errors.ts';
import type { Refusal } from '../../domain/webhook-import.ts';
import type { Database } from '../../store/database/database.ts';
import { LINES_PER_BATCH } from '../../store/webhooks/import.ts';
import {
  type ImportBatch,
  type ImportCounts,
  type ImportRun,
  rehearseImport,
  startImport,
} from '../../store/webhooks/import-run.ts';
import { type InputLine, readLines, readList } from '../formats/input-lines.ts';
import { WEBHOOK_FORMATS, type WebhookFormat, type WebhookReader, webhookReader } from '../formats/webhook-file.ts';
import { CommandError, ReportedFailure, UsageError } from '../terminal/command-error.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { Progress } from '../terminal/progress.ts';
import { terminal } from '../terminal/terminal.ts';
import { changeByCommandLine, requireEntity, withStore } from './session.ts';

export function addImport(program: Command): void {
  program
    .command('import')
    .description('register webhooks from a file, one per line; existing webhooks and settings stay unchanged')
    .argument('[file]', 'file to read (default: standard input)')
    .requiredOption('--entity <id>', 'entity that the webhooks belong to')
    .addOption(
      new Option(
        '--format <format>',
        'JSON Lines, CSV, or the JSON of a list of webhooks (default: by the name of the file)',
      ).choices(IMPORT_FORMATS),
    )
    .option('--dry-run', 'report what would be imported, and change nothing')
    .option('--json', 'print the summary and each rejected line as JSON')
    .action(importWebhooks);
}

const IMPORT_FORMATS = [...WEBHOOK_FORMATS, 'json'] as const;
type ImportFormat = (typeof IMPORT_FORMATS)[number];

type ImportCommandOptions = { entity: string; format?: ImportFormat; dryRun?: boolean; json?: boolean };

async function importWebhooks(file: string | undefined, options: ImportCommandOptions): Promise<void> {
  const { entity, dryRun = false, json = false } = options;
  const counts = await withStore(async ({ db, config }) => {
    await requireEntity(db, entity);
    const source = await openSource(file);
    const run = await startRun(db, entity, config, dryRun);
    try {
      const format = options.format ?? formatOf(file ?? '');
      await feed(run, source, format, config, (about) => reportLine(about, json));
      await run.finish();
    } catch (error) {
      throw explainInterruption(error, run.counts, dryRun);
    } finally {
      await run.close();
    }
    return run.counts;
  });
  if (json) printJson({ entityId: entity, dryRun, ...counts });
  else printSummary(counts, dryRun);
  if (counts.refused > 0) throw new ReportedFailure();
}

function startRun(db: Database, entityId: string, config: Config, dryRun: boolean): Promise<ImportRun> | ImportRun {
  const settings = { entityWebhookLimit: config.ENTITY_WEBHOOK_LIMIT, change: changeByCommandLine() };
  return dryRun ? rehearseImport(db, entityId, settings) : startImport(db, entityId, settings);
}

function formatOf(file: string): ImportFormat {
  return IMPORT_FORMATS.find((format) => file.toLowerCase().endsWith(`.${format}`)) ?? 'jsonl';
}

function readerFor(config: Config, format: WebhookFormat): WebhookReader {
  const rules = { allowInsecureTargets: config.ALLOW_INSECURE_TARGETS, events: knownEvents(config) };
  return webhookReader(format, {
    webhook: importedWebhookSchema(rules, changeByCommandLine().nowS),
    endpoint: importedEndpointSchema(rules),
  });
}

/** A step that the user must still take for an imported line. */
type LineNote = { line: number; note: string };

type Source = { chunks: AsyncIterable<Uint8Array>; sizeBytes: number | null };

async function openSource(file: string | undefined): Promise<Source> {
  if (file === undefined) {
    if (terminal().keyboard !== null) throw new UsageError('give a file, or pipe one to standard input');
    return { chunks: terminal().stdin.stream(), sizeBytes: null };
  }
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new UsageError(`${file} is a folder`);
    return { chunks: Bun.file(file).stream(), sizeBytes: found.isFile() ? found.size : null };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot read ${file}`);
  }
}

/** Reads the source batch by batch; the next lines are read once the last batch is stored. */
async function feed(
  run: ImportRun,
  { chunks, sizeBytes }: Source,
  format: ImportFormat,
  config: Config,
  report: (about: Refusal | LineNote) => Promise<void>,
): Promise<void> {
  const progress = new Progress();
  let bytesRead = 0;
  const countBytes = async function* () {
    for await (const chunk of chunks) {
      bytesRead += chunk.length;
      yield chunk;
    }
  };
  const lines = format === 'json' ? readList(countBytes()) : readLines(countBytes());
  for await (const batch of toBatches(lines, readerFor(config, format === 'json' ? 'jsonl' : format))) {
    const refused = await run.add(batch);
    const notes = headerNotes(batch, config.BODY_SIGNATURE_HEADER);
    if (refused.length + notes.length > 0) progress.clear();
    for (const about of [...refused, ...notes]) await report(about);
    const { lines, created } = run.counts;
    progress.show(
      sizeBytes === null ? null : bytesRead / sizeBytes,
      `${showCount(lines, 'line')}, ${showCount(created, 'webhook')}`,
    );
  }
  progress.clear();
}

/** Notes about headers, because the file has their names without their values. */
function headerNotes({ endpoints }: ImportBatch, signatureHeader: string | undefined): LineNote[] {
  return endpoints.flatMap(({ line, postUrl, headerNames = [] }) => {
    const settable = headerNames.filter((name) => headerNameError(name, signatureHeader) === null);
    const rejected = headerNames.filter((name) => !settable.includes(name));
    const notes: LineNote[] = [];
    if (settable.length > 0) {
      const note = `set the headers of ${postUrl} again, their values are not in the file: ${settable.join(', ')}`;
      notes.push({ line, note });
    }
    if (rejected.length > 0) {
      const note = `Paybell rejects these header names of ${postUrl}, choose others: ${rejected.join(', ')}`;
      notes.push({ line, note });
    }
    return notes;
  });
}

type OpenBatch = {
  webhooks: ImportBatch['webhooks'][number][];
  endpoints: ImportBatch['endpoints'][number][];
  unreadable: Refusal[];
};

async function* toBatches(lines: AsyncIterable<InputLine>, read: WebhookReader): AsyncGenerator<ImportBatch> {
  const empty = (): OpenBatch => ({ webhooks: [], endpoints: [], unreadable: [] });
  let batch = empty();
  for await (const line of lines) {
    const result = 'error' in line ? { ok: false as const, reason: line.error } : read(line.text);
    if (result === null) continue;
    if ('webhook' in result) batch.webhooks.push({ line: line.line, ...result.webhook });
    else if ('endpoint' in result) batch.endpoints.push({ line: line.line, ...result.endpoint });
    else batch.unreadable.push({ line: line.line, reason: result.reason });
    if (sizeOf(batch) < LINES_PER_BATCH) continue;
    yield batch;
    batch = empty();
  }
  if (sizeOf(batch) > 0) yield batch;
}

function sizeOf({ webhooks, endpoints, unreadable }: OpenBatch): number {
  return webhooks.length + endpoints.length + unreadable.length;
}

/** Waits until the line is written, so that rejected lines do not pile up in memory behind a slow reader. */
function reportLine(about: Refusal | LineNote, json: boolean): Promise<void> {
  const text = 'reason' in about ? about.reason : about.note;
  return new Promise((resolve, reject) => {
    const written = json ? JSON.stringify(about) : `line ${about.line}: ${text}`;
    terminal().stderr.write(`${written}\n`, (error) => (error ? reject(error) : resolve()));
  });
}

function explainInterruption(error: unknown, { lines, created }: ImportCounts, dryRun: boolean): unknown {
  if (dryRun || created === 0 || !(error instanceof Error)) return error;
  return new CommandError(
    `the import stopped after ${showCount(lines, 'line')}, with ${showCount(created, 'webhook')} imported: ` +
      `${error.message}. ` +
      'Run it again to continue: existing webhooks stay unchanged.',
  );
}

function printSummary({ lines, created, existing, endpoints, refused }: ImportCounts, dryRun: boolean): void {
  const done = dryRun ? 'would be imported' : 'imported';
  printLine(
    `${showCount(lines, 'line')}: ${showCount(created, 'webhook')} ${done}, ${existing} already registered, ${refused} rejected.`,
  );
  if (endpoints > 0) printLine(`Settings of ${showCount(endpoints, 'URL')} ${done}.`);
  if (dryRun) printLine('This was a dry run: nothing was changed.');
}
