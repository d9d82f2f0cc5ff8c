import type { Family } from '../family.ts';
import { practiceExchange } from '../practice/practice-exchange.ts';
import { ETHEREUM_DIALECT } from '../rpc/dialect.ts';
import { ETHEREUM_HABITS } from './follow/evm-poll.ts';
import { evmIdentity } from './identity.ts';
import { EvmReader } from './reader.ts';

export const EVM: Family = {
  identity: evmIdentity,
  dialect: ETHEREUM_DIALECT,
  practiceExchange: (networkId) => practiceExchange({ networkId }),
  pollMs: null,
  newReader: ({ decoder, isPractice }) => new EvmReader(decoder, ETHEREUM_HABITS, isPractice),
};
