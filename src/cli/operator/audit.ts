import type { Command } from 'commander';
import { AUDIT_ACTIONS, type AuditEntry, auditListQuerySchema } from '../../contract/audit.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../contract/list-query.ts';
import { listAudit } from '../../store/tenants/audit.ts';
import { type OptionValues, parseOptions } from '../options/list-options.ts';
import { MOMENT, parseMoment } from '../options/values.ts';
import { printJson, printNote, showDate } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';
import { requireEntity, withStore } from './session.ts';

/** Longer values are cut in the table; `--json` prints them in full. */
const MAX_SHOWN = 80;

export function addAudit(program: Command): void {
  program
    .command('audit')
    .description('list who changed what, newest first')
    .requiredOption('--entity <id>', 'entity whose changes to list')
    .option('--actor <who>', 'only changes by this key, or by cli, operator or paybell')
    .option('--action <action>', `only changes of this kind: ${AUDIT_ACTIONS.join(', ')}`)
    .option('--target <id>', 'only changes of the object with this id')
    .option('--since <when>', `only from this moment on: ${MOMENT}`, parseMoment)
    .option('--until <when>', 'only before this moment', parseMoment)
    .option('--page <n>', 'page to show (default: 1)')
    .option('--limit <n>', `changes per page, at most ${MAX_LIMIT} (default: ${DEFAULT_LIMIT})`)
    .option('--json', 'print JSON')
    .action(listChanges);
}

type AuditOptions = OptionValues & { entity: string };

async function listChanges({ entity, json, ...filters }: AuditOptions): Promise<void> {
  const query = parseOptions(auditListQuerySchema, filters);
  const found = await withStore(async ({ db }) => {
    await requireEntity(db, entity);
    return listAudit(db, entity, query);
  });
  if (json) return printJson(found);
  printTable(
    ['date', 'actor', 'action', 'target', 'before', 'after'],
    found.audit.map(toRow),
    found.totalResults === 0 ? 'No changes match.' : `Page ${query.page} is past the last page.`,
  );
  const pages = Math.ceil(found.totalResults / query.limit);
  if (pages > 1) printNote(`Page ${query.page} of ${pages}, ${found.totalResults} changes in total.`);
}

function toRow({ dateCreated, actor, action, target, before, after }: AuditEntry): string[] {
  return [showDate(dateCreated), actor, action, target, shorten(before), shorten(after)];
}

function shorten(value: unknown): string {
  const text = value === null ? '–' : JSON.stringify(value);
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 1)}…`;
}
