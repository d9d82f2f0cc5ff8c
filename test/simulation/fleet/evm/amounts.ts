import type { Decoder } from '../../../../src/chain/evm/decode/decoder.ts';
import type { Log } from '../../../../src/chain/evm/rpc/types.ts';
import { modelDecoder } from '../../../support/chain/model-decoder.ts';
import { AMOUNTS, type PaymentFields } from '../amounts.ts';

/** The amounts of payments in logs. */

export const NETWORK_ID = 1;
/** USDC on the network with the number 1. */
export const DOLLARS = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';

export function paymentOf(amount: number | string): PaymentFields {
  return { amount: String(amount), token: DOLLARS };
}

/** The payment that a log tells of, by its data. */
export function paymentOfLog({ data }: Pick<Log, 'data'>): PaymentFields {
  return paymentOf(AMOUNTS[Number(BigInt(data) % BigInt(AMOUNTS.length))] ?? 0);
}

/** The decoder of the model, with the amount of each payment. */
export const amountDecoder: Decoder = {
  ...modelDecoder,
  decode: async (logs, sources, options) => {
    const byPlace = new Map(logs.map((log) => [`${log.blockHash} ${log.logIndex}`, log]));
    const facts = await modelDecoder.decode(logs, sources, options);
    return facts.map((fact) => {
      const log = byPlace.get(`${fact.position.blockHash} ${fact.position.logIndex}`);
      return log === undefined ? fact : { ...fact, fields: paymentOfLog(log) };
    });
  },
};
