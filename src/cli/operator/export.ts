import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { showCount } from '../../domain/errors.ts';
import type { Database } from '../../store/database/database.ts';
import { walkSettings } from '../../store/endpoints/transfer.ts';
import type { SecretBox } from '../../store/tenants/secret-box.ts';
import { walkExport } from '../../store/webhooks/export.ts';
import { headerOf, WEBHOOK_FORMATS, type WebhookFormat, writeEndpoint, writeWebhook } from '../formats/webhook-file.ts';
import { CommandError } from '../terminal/command-error.ts';
import { printNote, printWarning } from '../terminal/output.ts';
import { Progress } from '../terminal/progress.ts';
import { terminal } from '../terminal/terminal.ts';
import { requireEntity, withStore } from './session.ts';

export function addExport(program: Command): void {
  program
    .command('export')
    .description(
      'write all webhooks of an entity, with the settings of their URLs, to a file; no secrets or header values',
    )
    .requiredOption('--entity <id>', 'entity whose webhooks to export')
    .addOption(new Option('--format <format>', 'JSON Lines or CSV').choices(WEBHOOK_FORMATS).default('jsonl'))
    .option('--output <file>', 'file to write (default: standard output)')
    .action(exportWebhooks);
}

type ExportOptions = { entity: string; format: WebhookFormat; output?: string };

async function exportWebhooks({ entity, format, output }: ExportOptions): Promise<void> {
  await withStore(async ({ db, box }) => {
    await requireEntity(db, entity);
    const left: LeftOut = { options: 0, endpoints: 0, headers: 0, secrets: 0, certificates: 0 };
    const progress = output === undefined ? null : new Progress();
    const text = Readable.from(exportText({ db, box, entityId: entity, format, left }, progress));
    try {
      if (output === undefined) await pipeline(text, terminal().stdout, { end: false });
      else await pipeline(text, createWriteStream(output));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (output === undefined || !/^E[A-Z]+$/.test(code)) throw error;
      throw new CommandError(`cannot write ${output} (${code})`);
    }
    sayWhatIsLeftOut(left);
  });
}

/** Counts of the entity's data that the file leaves out. */
type LeftOut = Record<'options' | 'endpoints' | 'headers' | 'secrets' | 'certificates', number>;

type Export = { db: Database; box: SecretBox; entityId: string; format: WebhookFormat; left: LeftOut };

async function* exportText(source: Export, progress: Progress | null): AsyncGenerator<string> {
  const { db, entityId, format, left } = source;
  let written = 0;
  yield headerOf(format);
  for await (const page of walkExport(db, entityId)) {
    yield page.map((webhook) => writeWebhook(webhook, format)).join('');
    if (format === 'csv') left.options += page.filter(({ options }) => options !== undefined).length;
    written += page.length;
    progress?.show(null, showCount(written, 'webhook'));
  }
  yield* settingsText(source);
  progress?.clear();
}

/** Settings follow the webhooks, because an import applies settings only to URLs with a webhook. */
async function* settingsText({ db, box, entityId, format, left }: Export): AsyncGenerator<string> {
  for await (const { endpoint, hasOwnSecret, hasCertificate } of walkSettings(db, box, entityId)) {
    if (endpoint.headerNames.length > 0) left.headers++;
    if (hasOwnSecret) left.secrets++;
    if (hasCertificate) left.certificates++;
    if (format === 'jsonl') yield writeEndpoint(endpoint);
    else left.endpoints++;
  }
}

function sayWhatIsLeftOut({ options, endpoints, headers, secrets, certificates }: LeftOut): void {
  if (options + endpoints > 0) {
    printWarning(
      `CSV has no options of webhooks and no settings of URLs: left out of ${showCount(options, 'webhook')} and ` +
        `${showCount(endpoints, 'URL')}; use --format jsonl`,
    );
  }
  if (headers > 0) printNote(`Header values are never exported: set them again for ${showCount(headers, 'URL')}.`);
  if (secrets > 0) printNote(`Secrets are never exported: ${showCount(secrets, 'URL')} with an own secret.`);
  if (certificates > 0) {
    printNote(`Client certificates are never exported: set them again for ${showCount(certificates, 'URL')}.`);
  }
}
