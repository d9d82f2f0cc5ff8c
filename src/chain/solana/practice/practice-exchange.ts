import { BoundedMap } from '../../../bounded-map.ts';
import { genesisOf } from '../../../domain/chain/families/solana.ts';
import { inProcessExchange, Refused } from '../../practice/in-process-exchange.ts';
import type { Exchange } from '../../rpc/http-exchange.ts';
import { NODE_IS_BEHIND, UNKNOWN_SIGNATURE } from '../rpc/calls.ts';
import { type PracticePayment, PracticeSlots, practiceAddress, signatureOf } from './practice-slots.ts';

/**
 * A practice network of Solana as a node. It answers the calls of Paybell in the same process, without a connection.
 */

const UNKNOWN_METHOD = -32_601;
const NO_BLOCK = -32_004;
const SYSTEM_PROGRAM = '11111111111111111111111111111111';
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const DECIMALS = 6;
const FEE = 5_000;
const RENT = 2_039_280;
/** Balance of the payer, far more than it ever pays. */
const PAYER_HAS = 10n ** 15n;
const MAX_OWNERS = 100_000;

const PAYER = practiceAddress(new TextEncoder().encode('payer'));
const PAYER_TILL = practiceAddress(new TextEncoder().encode('payer till'));
/** Ends with the letters USDC in ASCII. */
export const PRACTICE_MINT: string = practiceAddress(new TextEncoder().encode('USDC'));

type Owner = { readonly wallet: string; readonly token: string };

/** The wallets of token accounts. The address of such an account is a hash, which does not show the wallet. */
const OWNERS = new BoundedMap<string, Owner>(MAX_OWNERS);

/** Names the wallet of a token account. The network does not pay a token account before this call. */
export function nameOwner(account: string, owner: Owner): void {
  if (!OWNERS.has(account)) OWNERS.set(account, owner);
}

export function practiceExchange(networkId: number, dateMs: () => number = Date.now): Exchange {
  return inProcessExchange(() => {
    const slots = PracticeSlots.at(dateMs());
    return (method, params) => resultOf(slots, networkId, method, params);
  });
}

type Options = {
  readonly until?: string;
  readonly before?: string;
  readonly limit?: number;
  readonly minContextSlot?: number;
  readonly commitment?: string;
  readonly dataSlice?: { readonly offset: number; readonly length: number };
};

function resultOf(slots: PracticeSlots, networkId: number, method: string, params: readonly unknown[]): unknown {
  const [first, second] = params;
  const options = (second ?? {}) as Options;
  if ((options.minContextSlot ?? 0) > slots.head) throw new Refused(NODE_IS_BEHIND);
  switch (method) {
    case 'getGenesisHash':
      return genesisOf(networkId);
    case 'getSlot':
      return ((first ?? {}) as Options).commitment === 'finalized' ? slots.final : slots.head;
    case 'getFirstAvailableBlock':
      return slots.oldest;
    case 'getMultipleAccounts':
      return accountsOf(slots, first as string[], options);
    case 'getSignaturesForAddress':
      return listOf(slots, String(first), options);
    case 'getSignatureStatuses': {
      const value = (first as string[]).map((signature) => statusOf(slots, signature));
      return { context: { slot: slots.head }, value };
    }
    case 'getTransaction': {
      const payment = slots.find(String(first));
      return payment === null ? null : transactionOf(slots, payment);
    }
    case 'getBlock':
      if (Number(first) > slots.head) throw new Refused(NO_BLOCK);
      return { blockhash: slots.hashOf(Number(first)), blockTime: slots.blockS(Number(first)) };
    default:
      throw new Refused(UNKNOWN_METHOD);
  }
}

function accountsOf(slots: PracticeSlots, keys: readonly string[], { commitment, dataSlice }: Options): object {
  const slot = commitment === 'finalized' ? slots.final : slots.head;
  const { offset = 0, length = Number.POSITIVE_INFINITY } = dataSlice ?? {};
  const value = keys.map((key) => {
    const isToken = key === PRACTICE_MINT || OWNERS.has(key);
    const bytes = bytesOf(key, slots.balanceAfter(slot));
    const data = [bytes.subarray(offset, offset + length).toString('base64'), 'base64'];
    const lamports = isToken ? RENT : Number(slots.balanceAfter(slot));
    return { owner: isToken ? TOKEN_PROGRAM : SYSTEM_PROGRAM, lamports, space: bytes.length, data };
  });
  return { context: { slot }, value };
}

/** The data of a token, or of a token account with its amount; a wallet has none. */
function bytesOf(key: string, amount: bigint): Buffer {
  if (key === PRACTICE_MINT) return Buffer.alloc(82);
  if (!OWNERS.has(key)) return Buffer.alloc(0);
  const bytes = Buffer.alloc(165);
  bytes.writeBigUInt64LE(amount, 64);
  return bytes;
}

function listOf(slots: PracticeSlots, account: string, { until, before, limit = 1_000 }: Options): object[] {
  // Paybell asks for the system program to learn whether a node offers lists.
  const listed = account === SYSTEM_PROGRAM ? [] : slots.paidSlots().map((slot) => ({ account, slot }));
  const named = listed.map((payment) => ({ ...payment, signature: signatureOf(payment) }));
  const start = before === undefined ? 0 : named.findIndex(({ signature }) => signature === before) + 1;
  const end = until === undefined ? named.length : named.findIndex(({ signature }) => signature === until);
  if (end === -1) throw new Refused(UNKNOWN_SIGNATURE);
  const entries = named.slice(start, end).slice(0, limit);
  return entries.map(({ signature, slot }) => ({ signature, slot, err: null, blockTime: slots.blockS(slot) }));
}

function statusOf(slots: PracticeSlots, signature: string): object | null {
  const payment = slots.find(signature);
  if (payment === null) return null;
  const { slot } = payment;
  return { slot, err: null, confirmationStatus: slot <= slots.final ? 'finalized' : 'confirmed' };
}

function transactionOf(slots: PracticeSlots, payment: PracticePayment): object {
  const { account, slot } = payment;
  const after = slots.balanceAfter(slot);
  const amount = slots.amountIn(slot) ?? 0n;
  const owner = OWNERS.get(account) ?? null;
  const lamportsOf = (balance: bigint) => [Number(PAYER_HAS - balance), ...(owner === null ? [] : [RENT, RENT])];
  const paid = owner === null ? [Number(after - amount), Number(after)] : [];
  const spent = owner === null ? amount : 0n;
  const tokensOf = (balance: bigint) =>
    owner === null
      ? []
      : [tokenBalance(1, { wallet: PAYER, token: owner.token }, PAYER_HAS - balance), tokenBalance(2, owner, balance)];
  return {
    slot,
    blockTime: slots.blockS(slot),
    version: 'legacy',
    meta: {
      ...{ err: null, fee: FEE },
      preBalances: [...lamportsOf(0n), ...paid.slice(0, 1)],
      postBalances: [...lamportsOf(spent + BigInt(FEE)), ...paid.slice(1)],
      preTokenBalances: tokensOf(after - amount),
      postTokenBalances: tokensOf(after),
    },
    transaction: {
      signatures: [signatureOf(payment)],
      message: {
        accountKeys: owner === null ? [PAYER, account] : [PAYER, PAYER_TILL, account],
        ...{ header: { numRequiredSignatures: 1 }, instructions: [] },
      },
    },
  };
}

function tokenBalance(accountIndex: number, { wallet, token }: Owner, amount: bigint): object {
  const uiTokenAmount = { amount: String(amount), decimals: DECIMALS };
  return { accountIndex, mint: token, owner: wallet, uiTokenAmount };
}
