import type { Command } from 'commander';
import type { Chain, ChainNode } from '../../../client/chain/chains.ts';
import type { OptionValues } from '../../options/list-options.ts';
import { paint, printable, printJson, printLine, printWarning, showDate } from '../../terminal/output.ts';
import { printTable } from '../../terminal/table.ts';
import { addServerOptions, openSession } from '../session.ts';

export function addChainStatus(chain: Command): void {
  const status = chain.command('status').description('show how far each network is read, and how its nodes are');
  addServerOptions(status, ['chain status']).action(showStatus);
}

async function showStatus(options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const list = await client.chains.list();
  if (json) return printJson(list);
  printTable(
    ['network', 'state', 'head', 'tip', 'behind', 'safe', 'final', 'newest block'],
    list.chains.map((chain) => [
      `${chain.networkId} ${chain.name}`,
      paintState(chain),
      show(chain.head),
      show(chain.tip),
      chain.lagBlocks === null ? '–' : `${chain.lagBlocks} blocks`,
      show(chain.safe),
      show(chain.final),
      chain.headAgeSeconds === null ? 'never' : `${chain.headAgeSeconds} s ago`,
    ]),
    'No network is followed. The operator names their nodes in the setting CHAIN_RPC.',
    { shorten: { network: 8 }, leaveOut: ['safe', 'head'] },
  );
  const nodes = list.chains.flatMap((chain) => chain.nodes);
  if (nodes.length > 0) printNodes(nodes);
  for (const { networkId, name, state, reason } of list.chains) {
    if (reason !== null) printWarning(`${networkId} ${name} is ${state}: ${printable(reason)}`);
  }
}

function printNodes(nodes: readonly ChainNode[]): void {
  printLine();
  printTable(
    ['node', 'state', 'head', 'behind', 'final', 'last error', 'last response'],
    nodes.map(({ name, state, head, behindBlocks, finalized, lastError, dateLastOk }) => [
      name,
      paint(state, state === 'ok' ? 'green' : state === 'behind' ? 'yellow' : 'red'),
      show(head),
      behindBlocks === null ? '–' : `${behindBlocks} blocks`,
      show(finalized),
      lastError ?? '–',
      showDate(dateLastOk),
    ]),
    '',
  );
}

function show(block: number | null): string {
  return block === null ? '–' : String(block);
}

function paintState({ state }: Chain): string {
  return paint(state, state === 'following' ? 'green' : state === 'halted' ? 'red' : 'yellow');
}
