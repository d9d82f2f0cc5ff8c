import type { Command } from 'commander';
import { addChainStatus } from '../server/chain/chain-status.ts';
import { addChainResume } from './resume.ts';

/** Its commands are of both kinds: one asks a server, the other works on the store. */
export function addChain(program: Command): void {
  const chain = program.command('chain').description('the networks that are followed');
  addChainStatus(chain);
  addChainResume(chain);
}
