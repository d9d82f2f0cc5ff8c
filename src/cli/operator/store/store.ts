import type { Command } from 'commander';
import { addStoreDeliveries } from './deliveries.ts';
import { addStoreSecrets } from './secrets.ts';

/** What has the same name on a server: there as one of its entities, here as the operator of them all. */
export function addStore(program: Command): void {
  const store = program.command('store').description('secrets and deliveries of any entity, as the operator');
  addStoreDeliveries(store);
  addStoreSecrets(store);
}
