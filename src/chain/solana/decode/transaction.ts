import { type Json, readAmount, readList, readNumber, readObject, readOptionalList, readText } from '../rpc/values.ts';
import { type Instruction, memosOf, referencesOf } from './instructions.ts';

/** The balance of one token account on one side of a transaction. */
export type TokenBalance = {
  /** The place of the account among the keys. */
  readonly index: number;
  readonly mint: string;
  /** Null if the node does not name the owner, as for transactions from 2020. */
  readonly owner: string | null;
  readonly amount: bigint;
  readonly decimals: number;
};

/** The part of a transaction that payments need, as `getTransaction` with `encoding: json` shows it. */
export type Transaction = {
  readonly signature: string;
  readonly slot: number;
  readonly blockS: number | null;
  readonly isFailed: boolean;
  readonly fee: bigint;
  /**
   * All accounts, in the order of the indexes in instructions: the message's accounts, then loaded writable accounts,
   * then loaded read-only accounts.
   */
  readonly keys: readonly string[];
  /** The number of keys that have signed. They come first, and the first key has paid the fee. */
  readonly signers: number;
  /** Lamports by key. */
  readonly lamportsBefore: readonly bigint[];
  readonly lamportsAfter: readonly bigint[];
  readonly tokensBefore: readonly TokenBalance[];
  readonly tokensAfter: readonly TokenBalance[];
  readonly memos: readonly string[];
  readonly references: readonly string[];
};

/** Null if the node does not have the transaction. */
export function readTransaction(result: unknown): Transaction | null {
  if (result === null) return null;
  const { slot, blockTime, meta, transaction } = readObject(result);
  const body = readObject(transaction);
  const message = readObject(body.message);
  const outcome = readObject(meta);
  const loaded = outcome.loadedAddresses == null ? {} : readObject(outcome.loadedAddresses);
  const keys = [
    ...readList(message.accountKeys, readText),
    ...readOptionalList(loaded.writable, readText),
    ...readOptionalList(loaded.readonly, readText),
  ];
  const signers = readNumber(readObject(message.header).numRequiredSignatures);
  const instructions = readInstructions(message, outcome, keys);
  return {
    signature: readList(body.signatures, readText)[0] ?? '',
    slot: readNumber(slot),
    blockS: typeof blockTime === 'number' ? blockTime : null,
    isFailed: outcome.err !== null,
    fee: readAmount(outcome.fee),
    keys,
    signers,
    lamportsBefore: readList(outcome.preBalances, readAmount),
    lamportsAfter: readList(outcome.postBalances, readAmount),
    tokensBefore: readOptionalList(outcome.preTokenBalances, readTokenBalance),
    tokensAfter: readOptionalList(outcome.postTokenBalances, readTokenBalance),
    memos: memosOf(instructions),
    references: referencesOf(instructions, new Set(keys.slice(0, signers))),
  };
}

function readTokenBalance(value: unknown): TokenBalance {
  const { accountIndex, mint, owner, uiTokenAmount } = readObject(value);
  const { amount, decimals } = readObject(uiTokenAmount);
  return {
    index: readNumber(accountIndex),
    mint: readText(mint),
    owner: typeof owner === 'string' ? owner : null,
    amount: readAmount(amount),
    decimals: readNumber(decimals),
  };
}

/** The instructions of the message, each followed by its inner instructions, which a node may leave out. */
function readInstructions(message: Json, outcome: Json, keys: readonly string[]): Instruction[] {
  const read = (value: unknown): Instruction => {
    const { programIdIndex, accounts, data } = readObject(value);
    const keyAt = (place: unknown) => keys[readNumber(place)] ?? '';
    return { program: keyAt(programIdIndex), accounts: readList(accounts, keyAt), data: readText(data) };
  };
  const inner = readOptionalList(outcome.innerInstructions, (value) => {
    const { index, instructions } = readObject(value);
    return { index: readNumber(index), instructions: readList(instructions, read) };
  });
  return readList(message.instructions, read).flatMap((instruction, place) => [
    instruction,
    ...inner.flatMap(({ index, instructions }) => (index === place ? instructions : [])),
  ]);
}

/** The balance of one watched account before and after; null if the transaction does not name the account. */
export function balancesAt(
  transaction: Transaction,
  account: string,
  isNative: boolean,
): { readonly before: bigint; readonly after: bigint } | null {
  const place = transaction.keys.indexOf(account);
  if (place === -1) return null;
  if (isNative) {
    return { before: transaction.lamportsBefore[place] ?? 0n, after: transaction.lamportsAfter[place] ?? 0n };
  }
  const amountIn = (balances: readonly TokenBalance[]) => balances.find(({ index }) => index === place)?.amount ?? 0n;
  return { before: amountIn(transaction.tokensBefore), after: amountIn(transaction.tokensAfter) };
}
