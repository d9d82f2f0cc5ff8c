import type { TokenBalance, Transaction } from './transaction.ts';

/** The token of a payment in SOL. */
export const NATIVE = 'native';
const SOL_DECIMALS = 9;

/** The amount by which a transaction raises a wallet's balance of one token. */
export type Credit = {
  /** The mint, or `native`. */
  readonly token: string;
  readonly payee: string;
  readonly amount: bigint;
  readonly decimals: number;
  /** The owner whose balance falls; null unless there is exactly one. */
  readonly payer: string | null;
  /** The index among all credits of the transaction, ordered by token and wallet. */
  readonly place: number;
};

type Changes = { readonly decimals: number; readonly byOwner: Map<string, bigint> };

/** The credits of all wallets, by their balances. A failed transaction has none. */
export function creditsOf(transaction: Transaction): Credit[] {
  if (transaction.isFailed) return [];
  const changes = new Map<string, Changes>([[NATIVE, lamportChanges(transaction)]]);
  addTokens(changes, transaction.tokensBefore, -1n);
  addTokens(changes, transaction.tokensAfter, 1n);
  const signers = new Set(transaction.keys.slice(0, transaction.signers));
  const credits: Omit<Credit, 'place'>[] = [];
  for (const [token, { decimals, byOwner }] of changes) {
    const givers = [...byOwner].filter(([, change]) => change < 0n);
    const payer = givers.length === 1 ? (givers[0]?.[0] ?? null) : null;
    for (const [payee, amount] of byOwner) {
      // A wallet that signs does not get a payment: it gets its own rent back, or the result of its own swap.
      if (amount <= 0n || (token === NATIVE && signers.has(payee))) continue;
      credits.push({ token, payee, amount, decimals, payer });
    }
  }
  credits.sort((a, b) => compare(a.token, b.token) || compare(a.payee, b.payee));
  return credits.map((credit, place) => ({ ...credit, place }));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Adds the balances of token accounts, summed up by owner. */
function addTokens(changes: Map<string, Changes>, balances: readonly TokenBalance[], sign: bigint): void {
  for (const { mint, owner, amount, decimals } of balances) {
    if (owner === null) continue;
    const { byOwner } = changes.get(mint) ?? { byOwner: new Map<string, bigint>() };
    changes.set(mint, { decimals, byOwner });
    byOwner.set(owner, (byOwner.get(owner) ?? 0n) + sign * amount);
  }
}

/** The changes of lamports. Leaves out token accounts, whose lamports are rent, and the fee, which is not a payment. */
function lamportChanges(transaction: Transaction): Changes {
  const { keys, fee, lamportsBefore, lamportsAfter, tokensBefore, tokensAfter } = transaction;
  const tokenAccounts = new Set([...tokensBefore, ...tokensAfter].map(({ index }) => index));
  const byOwner = new Map<string, bigint>();
  for (const [place, key] of keys.entries()) {
    if (tokenAccounts.has(place)) continue;
    const change = (lamportsAfter[place] ?? 0n) - (lamportsBefore[place] ?? 0n) + (place === 0 ? fee : 0n);
    if (change !== 0n) byOwner.set(key, change);
  }
  return { decimals: SOL_DECIMALS, byOwner };
}
