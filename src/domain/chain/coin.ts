import { familyOf } from './families/families.ts';
import { isPractice } from './practice.ts';

/** The coin of a network, such as ETH. Transfers of it leave no log. */

/** Stands for the coin in invoices, sources and payments, in place of a token's address. */
export const NATIVE_TOKEN = 'native';

/** Ethereum's JSON-RPC states every amount of a coin in 10^-18. */
export const COIN_DECIMALS = 18;

/** Whether Paybell reads transfers of the network's coin. */
export function hasReadableCoin(networkId: number): boolean {
  return familyOf(networkId) === 'evm' && !isPractice(networkId);
}
