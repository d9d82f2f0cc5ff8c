import type { Command } from 'commander';
import { addStoreDeliveries } from './deliveries.ts';
import { addStoreSecrets } from './secrets.ts';

/** The operator's counterparts of `deliveries` and `secrets`, for any entity of the store. */
export function addStore(program: Command): void {
  const store = program.command('store').description('secrets and deliveries of any entity, as the operator');
  addStoreDeliveries(store);
  addStoreSecrets(store);
}
