import { type FamilyRules, type Parsed, sameText } from './family-rules.ts';

const ADDRESS = /^0x[0-9a-f]{40}$/i;
const TRANSACTION = /^0x[0-9a-f]{64}$/i;

/**
 * Does not check the checksum in capital letters, which needs a hash. The creation of a source or an address checks it.
 */
function parseAddress(text: string): Parsed {
  return ADDRESS.test(text) ? { value: text.toLowerCase() } : { error: 'must be an address: 0x and 40 hex digits' };
}

function parseTransactionId(text: string): Parsed {
  if (TRANSACTION.test(text)) return { value: text.toLowerCase() };
  return { error: 'must be a transaction hash: 0x and 64 hex digits' };
}

export const EVM: FamilyRules = {
  id: 'evm',
  unit: 'block',
  caip2: (networkId) => `eip155:${networkId}`,
  addresses: { parse: parseAddress, show: sameText, hasForm: (text) => ADDRESS.test(text) },
  transactionIds: { parse: parseTransactionId, show: sameText, hasForm: (text) => TRANSACTION.test(text) },
  presets: ['erc20', 'native', 'request-network', 'loop', 'superfluid'],
};
