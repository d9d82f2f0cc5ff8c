import type { Call } from '../../rpc/call.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import { readTransaction, type Transaction } from '../decode/transaction.ts';
import { readAmount, readList, readNumber, readObject, readText, readTextOrNull } from './values.ts';

/** The calls of Solana's JSON-RPC. Paybell never asks for `processed`, which changes all the time. */

/** The node has not reached the slot that a call needs. */
export const NODE_IS_BEHIND = -32016;
/** The node does not know the transaction at which a list must end. */
export const UNKNOWN_SIGNATURE = -32020;

export const MAX_ACCOUNTS = 100;
export const MAX_SIGNATURES = 1_000;
export const MAX_STATUSES = 256;

type Commitment = 'confirmed' | 'finalized';

/**
 * The newest transaction version that a call accepts. A node rejects a block that has a transaction of a newer version.
 */
const NEWEST_VERSION = 1;
/** The amount of a token account is at this place of its data. */
const AMOUNT = { offset: 64, length: 8 } as const;

export type WatchedAccount = { readonly account: string; readonly isNative: boolean };

export type Balances = { readonly slot: number; readonly balances: readonly bigint[] };

/** Balances of at most `MAX_ACCOUNTS` accounts. An account that does not exist has the balance 0. */
export function balancesOf(
  accounts: readonly WatchedAccount[],
  commitment: Commitment,
  minContextSlot: number | null,
): Call<Balances> {
  const keys = accounts.map(({ account }) => account);
  const context = minContextSlot === null ? {} : { minContextSlot };
  return {
    method: 'getMultipleAccounts',
    params: [keys, { commitment, encoding: 'base64', dataSlice: AMOUNT, ...context }],
    read: (result) => {
      const { context: at, value } = readObject(result);
      const found = readList(value, (each) => each);
      if (found.length !== accounts.length) throw new RpcFailure('garbage');
      const balances = accounts.map(({ isNative }, place) => balanceIn(found[place], isNative));
      return { slot: readNumber(readObject(at).slot), balances };
    },
  };
}

function balanceIn(value: unknown, isNative: boolean): bigint {
  if (value === null) return 0n;
  const { lamports, data } = readObject(value);
  if (isNative) return readAmount(lamports);
  const bytes = Buffer.from(readList(data, readText)[0] ?? '', 'base64');
  return bytes.length < AMOUNT.length ? 0n : bytes.readBigUInt64LE();
}

export type ListedSignature = {
  readonly signature: string;
  readonly slot: number;
  readonly isFailed: boolean;
  readonly blockS: number | null;
};

export type ListOptions = {
  readonly until?: string | null;
  readonly before?: string | null;
  readonly minContextSlot: number | null;
};

/** The transactions that name an account, newest first. */
export function signaturesOf(
  account: string,
  { until = null, before = null, minContextSlot }: ListOptions,
): Call<ListedSignature[]> {
  const options = {
    commitment: 'confirmed',
    limit: MAX_SIGNATURES,
    ...(until !== null && { until }),
    ...(before !== null && { before }),
    ...(minContextSlot !== null && { minContextSlot }),
  };
  const read = (value: unknown): ListedSignature => {
    const { signature, slot, err, blockTime } = readObject(value);
    const blockS = typeof blockTime === 'number' ? blockTime : null;
    return { signature: readText(signature), slot: readNumber(slot), isFailed: err !== null, blockS };
  };
  return { method: 'getSignaturesForAddress', params: [account, options], read: (result) => readList(result, read) };
}

/** Null if the node does not have the transaction. */
export function transactionOf(signature: string): Call<Transaction | null> {
  const options = { encoding: 'json', maxSupportedTransactionVersion: NEWEST_VERSION, commitment: 'confirmed' };
  return {
    method: 'getTransaction',
    params: [signature, options],
    read: (result) => {
      const transaction = readTransaction(result);
      if (transaction !== null && transaction.signature !== signature) throw new RpcFailure('garbage');
      return transaction;
    },
  };
}

export type Block = { readonly hash: string; readonly blockS: number | null };

/** Null if the node does not have a block in this slot. */
export function blockOf(slot: number): Call<Block | null> {
  const options = {
    transactionDetails: 'none',
    rewards: false,
    maxSupportedTransactionVersion: NEWEST_VERSION,
    commitment: 'confirmed',
  };
  return {
    method: 'getBlock',
    params: [slot, options],
    read: (result) => {
      if (result === null) return null;
      const { blockhash, blockTime } = readObject(result);
      return { hash: readText(blockhash), blockS: typeof blockTime === 'number' ? blockTime : null };
    },
  };
}

export function slotOf(commitment: Commitment): Call<number> {
  return { method: 'getSlot', params: [{ commitment }], read: readNumber };
}

export type Status = { readonly slot: number; readonly isFailed: boolean; readonly level: string | null };
export type Statuses = { readonly slot: number; readonly statuses: readonly (Status | null)[] };

/**
 * Asks for the statuses of at most `MAX_STATUSES` transactions of any age. Null for a transaction that the node does
 * not have.
 */
export function statusesOf(signatures: readonly string[]): Call<Statuses> {
  const read = (value: unknown): Status | null => {
    if (value === null) return null;
    const { slot, err, confirmationStatus } = readObject(value);
    return { slot: readNumber(slot), isFailed: err !== null, level: readTextOrNull(confirmationStatus) };
  };
  return {
    method: 'getSignatureStatuses',
    params: [signatures, { searchTransactionHistory: true }],
    read: (result) => {
      const { context, value } = readObject(result);
      const statuses = readList(value, read);
      if (statuses.length !== signatures.length) throw new RpcFailure('garbage');
      return { slot: readNumber(readObject(context).slot), statuses };
    },
  };
}

/** The hash of the first block, which names the network. */
export function genesisHash(): Call<unknown> {
  return { method: 'getGenesisHash', params: [], read: (result) => result };
}
