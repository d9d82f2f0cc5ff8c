import { type AbiLibrary, loadAbiLibrary } from '../../../../src/chain/evm/decode/abi-library.ts';
import type { Decoder } from '../../../../src/chain/evm/decode/decoder.ts';
import { LogDecoder } from '../../../../src/chain/evm/decode/decoder.ts';
import { formatAmount } from '../../../../src/domain/chain/invoices/amounts.ts';
import { findEntries } from '../../../../src/store/chain/addresses/books.ts';
import type { TokenReading } from '../../../../src/store/chain/invoices/book.ts';
import type { PreparedInvoice } from '../../../../src/store/chain/invoices/new-invoices.ts';
import type { Database } from '../../../../src/store/database/database.ts';
import { addressOf, type ModelLog, wordOf } from '../../../support/chain/model-chain.ts';
import { amountDecoder, DOLLARS, NETWORK_ID } from './amounts.ts';

/** The token of invoices. Its logs are real ones, so that the real decoder finds them by the address book of the invoices. */

/** Loaded before time is virtual. */
export const library: AbiLibrary = await loadAbiLibrary();

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const PAYER_WORD = wordOf(0xace);
const DECIMALS = 6;
/** The parameter of the log that names the payee. */
const PAYEE_PLACE = 2;

/** An amount of the token in its smallest unit. */
function baseOfAmount(amount: number): bigint {
  return BigInt(amount) * 10n ** BigInt(DECIMALS);
}

export function amountOfBase(base: bigint): string {
  return formatAmount(base, DECIMALS);
}

export function addressOfInvoice(number: number): string {
  return addressOf(0xaa_0000 + number);
}

export function transferLog(address: string, base: bigint): ModelLog {
  const payee = `0x${address.slice(2).padStart(64, '0')}`;
  return {
    ...{ address: DOLLARS, topics: [TRANSFER, PAYER_WORD, payee] },
    data: `0x${base.toString(16).padStart(64, '0')}`,
  };
}

export type SimulatedTerms = Pick<PreparedInvoice['terms'], 'dateExpires' | 'match' | 'tolerancePercent'> & {
  readonly reference: string;
  readonly address: string;
  readonly amount: number;
  readonly watchDays: number;
};

/** As the API prepares a request. */
export function prepareInvoice({ address, amount, ...terms }: SimulatedTerms): PreparedInvoice {
  const place = { token: DOLLARS, address };
  return {
    terms: { networkId: NETWORK_ID, ...place, amount: String(amount), ...terms },
    ...place,
    ...{ shownToken: DOLLARS, shownAddress: address, decimals: DECIMALS, base: baseOfAmount(amount) },
  };
}

export const READINGS: ReadonlyMap<string, TokenReading> = new Map([
  [
    DOLLARS,
    {
      definition: {
        ...{ networkId: NETWORK_ID, preset: 'erc20', contract: DOLLARS, abi: null, event: null, where: {}, fields: {} },
        ...{ fromBlock: 'latest', deliverHistory: false, addressBook: 'to' },
      },
      ...{ topic: TRANSFER, topics: [null, null, null, null], bookPlace: PAYEE_PLACE },
    },
  ],
]);

/** Logs of the token are read by the real decoder, and all others by the one of the model. */
export function simulatedDecoder(db: Database): Decoder {
  const decoder = new LogDecoder({
    tokens: {
      read: async (_, tokens) => new Map(tokens.map((token) => [token, { decimals: DECIMALS, symbol: null }])),
      save: async () => undefined,
    },
    callContract: () => Promise.reject(new Error('no contract of the simulation answers')),
    findEntries: (networkId, addresses) => findEntries(db, networkId, addresses),
  });
  const isOfToken = ({ address }: { readonly address: string }) => address === DOLLARS;
  return {
    decode: async (logs, sources, options) => {
      const ofToken = sources.filter(({ contract }) => contract === DOLLARS);
      const others = sources.filter(({ contract }) => contract !== DOLLARS);
      const [transfers, rest] = [logs.filter(isOfToken), logs.filter((log) => !isOfToken(log))];
      return [
        ...(await decoder.decode(transfers, ofToken, options)),
        ...(await amountDecoder.decode(rest, others, options)),
      ];
    },
    identify: (networkId, logs) =>
      new Map([
        ...decoder.identify(networkId, logs.filter(isOfToken)),
        ...amountDecoder.identify(
          networkId,
          logs.filter((log) => !isOfToken(log)),
        ),
      ]),
  };
}
