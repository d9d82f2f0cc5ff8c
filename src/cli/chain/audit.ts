import type { Command } from 'commander';
import { AuditedNode } from '../../chain/audit/audited-node.ts';
import { type AuditDifference, auditDay, type DayAudit } from '../../chain/audit/day-audit.ts';
import { contractCalls } from '../../chain/evm/decode/contract-calls.ts';
import { LogDecoder } from '../../chain/evm/decode/decoder.ts';
import { loadFamily } from '../../chain/families.ts';
import { exchangeOf } from '../../chain/rpc/exchange-of.ts';
import { RpcFailure } from '../../chain/rpc/failures.ts';
import { Node } from '../../chain/rpc/node.ts';
import type { Config } from '../../config.ts';
import { DAY_MS, daySchema } from '../../contract/events/reconciliation.ts';
import { parseNodeUrl } from '../../domain/chain/node-url.ts';
import { paymentIdOf } from '../../domain/chain/payments.ts';
import { showCount } from '../../domain/errors.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { FollowedSources } from '../../store/chain/sources/followed.ts';
import { readTokens } from '../../store/chain/tokens.ts';
import type { Database } from '../../store/database/database.ts';
import { withStore } from '../operator/session.ts';
import { wholeNumber } from '../options/values.ts';
import { CommandError, ReportedFailure, UsageError } from '../terminal/command-error.ts';
import { printable, printJson, printLine } from '../terminal/output.ts';
import { Progress } from '../terminal/progress.ts';
import { printTable } from '../terminal/table.ts';

type Options = { network: number; day: string; rpc?: string; maxCalls: number; json?: boolean };

/** Exit code for an audit without differences that did not compare all blocks. */
const INCOMPLETE = 3;
const DEFAULT_CALLS = 10_000;
const MOST_SHOWN = 1_000;

/** Compares the database with a node, for all entities at once. */
export function addChainAudit(chain: Command): void {
  chain
    .command('audit')
    .description('compare the stored payments of a day with a node; needs DATABASE_URL and no key')
    .requiredOption('--network <id>', 'network to audit', wholeNumber(0, MAX_NETWORK_ID))
    .requiredOption('--day <date>', 'the day of the blocks in UTC, such as 2026-01-31')
    .option('--rpc <url>', 'node to read from; by default the last one of the network in CHAIN_RPC')
    .option('--max-calls <number>', 'calls to the node at most', wholeNumber(1, 10_000_000), DEFAULT_CALLS)
    .option('--json', 'print JSON')
    .action(audit);
}

async function audit({ network: networkId, day, rpc, maxCalls, json }: Options): Promise<void> {
  const parsed = daySchema.safeParse(day);
  if (!parsed.success) throw new UsageError(`--day ${parsed.error.issues[0]?.message}`);
  const sinceS = Date.parse(`${day}T00:00:00Z`) / 1000;
  const { found, node } = await withStore(async ({ db, config }) => {
    requireKept(config, sinceS);
    const named = nodeOf(config, networkId, rpc);
    return { found: await run(db, { networkId, sinceS, maxCalls, ...named }), node: named.name };
  });
  const { differences, ...figures } = found;
  const shown = differences.slice(0, MOST_SHOWN);
  if (json) {
    const listed = shown.map((one) => ({ paymentId: paymentIdOf(one.factId), ...one }));
    printJson({ networkId, day, node, ...figures, differenceCount: differences.length, differences: listed });
  } else {
    printAudit(found, shown, { networkId, day, node });
  }
  if (differences.length > 0) throw new ReportedFailure();
  if (found.state !== 'complete') throw new CommandError(REASONS[found.state], INCOMPLETE);
}

const REASONS: Readonly<Record<Exclude<DayAudit['state'], 'complete'>, string>> = {
  not_final_yet: 'the day is not final yet: run the audit again when all of its blocks are final',
  calls_used: 'the audit has used all of its calls: raise --max-calls',
};

/** Rejects an earlier day, whose payments retention has removed: all of them would be missing. */
function requireKept({ RETENTION }: Config, sinceS: number): void {
  if (sinceS * 1000 >= Date.now() - RETENTION) return;
  const first = new Date(Date.now() - RETENTION + DAY_MS).toISOString().slice(0, 10);
  throw new UsageError(`--day must be ${first} or later: payments are removed after their retention`);
}

/** The last node by default, because the follower asks it least. */
function nodeOf(config: Config, networkId: number, rpc: string | undefined): { url: string; name: string } {
  if (rpc !== undefined) {
    if (parseNodeUrl(rpc) === null) {
      throw new UsageError('--rpc must be an http or https URL');
    }
    return { url: rpc, name: '--rpc' };
  }
  const urls = config.CHAIN_RPC.find((network) => network.networkId === networkId)?.urls ?? [];
  const url = urls.at(-1);
  if (url === undefined) throw new CommandError(`CHAIN_RPC has no node of network ${networkId}: name one with --rpc`);
  return { url, name: `${networkId}#${urls.length}` };
}

type Run = { networkId: number; sinceS: number; maxCalls: number; url: string; name: string };

async function run(db: Database, { networkId, sinceS, maxCalls, url, name }: Run): Promise<DayAudit> {
  const family = await loadFamily(networkId);
  const { dialect } = family;
  const exchange = exchangeOf(url, networkId, family);
  const node = new AuditedNode(new Node({ name, dialect, exchange, identity: family.identity(networkId) }), maxCalls);
  const decoder = new LogDecoder({
    tokens: { read: (id, addresses) => readTokens(db, id, addresses), save: async () => undefined },
    callContract: contractCalls(async (_, method, params) => {
      const call = { method, params, read: (result: unknown) => result };
      return (await node.send([call])).value(call);
    }),
  });
  const progress = new Progress();
  const onProgress = (done: number, total: number) =>
    progress.show(done / total, `${done} of ${showCount(total, 'block')}, ${showCount(node.calls, 'call')}`);
  try {
    const sources = await new FollowedSources().read(db, networkId);
    return await auditDay({
      db,
      node,
      decoder,
      sources,
      networkId,
      sinceS,
      untilS: sinceS + DAY_MS / 1000,
      onProgress,
    });
  } catch (error) {
    if (error instanceof RpcFailure) throw new CommandError(`the node ${name} failed: ${error.message}`);
    throw error;
  } finally {
    progress.clear();
  }
}

const WORDS: Readonly<Record<AuditDifference['difference'], string>> = {
  missing: 'not stored',
  undone: 'stored as undone',
  not_final: 'not final',
  other_block: 'in another block',
  other_amount: 'another amount',
  not_on_chain: 'not on the chain',
};

function printAudit(
  { blocks, equal, differences, calls, pausedSources }: DayAudit,
  shown: readonly AuditDifference[],
  { networkId, day, node }: { networkId: number; day: string; node: string },
): void {
  if (shown.length > 0) {
    printTable(
      ['payment', 'difference', 'entity', 'block', 'transaction', 'stored', 'on chain'],
      shown.map((one) => [
        paymentIdOf(one.factId),
        WORDS[one.difference],
        one.entityId,
        String(one.blockNumber),
        one.transactionHash,
        sideText(one.stored),
        sideText(one.onChain),
      ]),
      '',
    );
    printLine();
  }
  const range = blocks === null ? 'no final block' : `blocks ${blocks.from} to ${blocks.to}`;
  printLine(`Network ${networkId} on ${day}, ${range}, read from ${node} with ${showCount(calls, 'call')}.`);
  printLine(`${showCount(equal, 'payment')} equal, ${showCount(differences.length, 'difference')}.`);
  if (shown.length < differences.length) printLine(`Only the first ${MOST_SHOWN} differences are listed.`);
  if (pausedSources > 0) printLine(`${showCount(pausedSources, 'paused source')} not compared.`);
}

function sideText(side: AuditDifference['stored']): string {
  if (side === null) return '–';
  return printable([side.state, side.amount, side.token].filter((part) => part !== null).join(' '));
}
