import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { showCount } from '../../domain/errors.ts';
import type { Database } from '../../store/database/database.ts';
import { walkWebhooks } from '../../store/webhooks/export.ts';
import { headerOf, WEBHOOK_FORMATS, type WebhookFormat, writeWebhook } from '../formats/webhook-file.ts';
import { CommandError } from '../terminal/command-error.ts';
import { Progress } from '../terminal/progress.ts';
import { requireEntity, withStore } from './session.ts';

export function addExport(program: Command): void {
  program
    .command('export')
    .description('write all webhooks of an entity to a file, oldest first')
    .requiredOption('--entity <id>', 'entity whose webhooks to export')
    .addOption(new Option('--format <format>', 'JSON Lines or CSV').choices(WEBHOOK_FORMATS).default('jsonl'))
    .option('--output <file>', 'file to write (default: standard output)')
    .action(exportWebhooks);
}

type ExportOptions = { entity: string; format: WebhookFormat; output?: string };

async function exportWebhooks({ entity, format, output }: ExportOptions): Promise<void> {
  await withStore(async ({ db }) => {
    await requireEntity(db, entity);
    const text = Readable.from(exportText(db, entity, format, output === undefined ? null : new Progress()));
    try {
      if (output === undefined) await pipeline(text, process.stdout, { end: false });
      else await pipeline(text, createWriteStream(output));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (output === undefined || !/^E[A-Z]+$/.test(code)) throw error;
      throw new CommandError(`cannot write ${output} (${code})`);
    }
  });
}

async function* exportText(
  db: Database,
  entityId: string,
  format: WebhookFormat,
  progress: Progress | null,
): AsyncGenerator<string> {
  let written = 0;
  yield headerOf(format);
  for await (const page of walkWebhooks(db, entityId)) {
    yield page.map((webhook) => writeWebhook(webhook, format)).join('');
    written += page.length;
    progress?.show(null, showCount(written, 'webhook'));
  }
  progress?.clear();
}
