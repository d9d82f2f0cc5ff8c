import type { Command } from 'commander';
import { addChainStatus } from '../server/chain/chain-status.ts';
import { addChainAudit } from './audit.ts';
import { addChainResume } from './resume.ts';

/** `status` asks a server. `resume` and `audit` work on the database. */
export function addChain(program: Command): void {
  const chain = program.command('chain').description('the networks that are followed');
  addChainStatus(chain);
  addChainResume(chain);
  addChainAudit(chain);
}
