import type { Command } from 'commander';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { resumeNetwork } from '../../store/chain/networks.ts';
import { withStore } from '../operator/session.ts';
import { wholeNumber } from '../options/values.ts';
import { CommandError } from '../terminal/command-error.ts';
import { printJson, printLine } from '../terminal/output.ts';

type Options = { network: number; from: number; json?: boolean };

/** Works on the database, because a halted network concerns the operator and not an entity. */
export function addChainResume(chain: Command): void {
  chain
    .command('resume')
    .description('follow a halted network again, after you have checked its nodes; needs DATABASE_URL and no key')
    .requiredOption('--network <id>', 'network that was halted', wholeNumber(0, MAX_NETWORK_ID))
    .requiredOption(
      '--from <block>',
      'first block to read again; Paybell retracts payments that are no longer there',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--json', 'print JSON')
    .action(resume);
}

async function resume({ network: networkId, from: fromBlock, json }: Options): Promise<void> {
  const isResumed = await withStore(({ db }) => resumeNetwork(db, networkId, fromBlock));
  if (!isResumed) throw new CommandError(`network ${networkId} is not halted`);
  if (json) printJson({ networkId, fromBlock });
  else
    printLine(
      `Network ${networkId} is read again from block ${fromBlock} on. A running server continues within seconds.`,
    );
}
