import { decodeBase58, encodeBase58 } from '../../../domain/chain/families/base58.ts';
import { PRACTICE_MARK } from '../../../domain/chain/practice.ts';

/**
 * The payments of a practice network of Solana, computed only from the time. Every process has the same payments, even
 * after a restart, and nothing is stored. Every account that a call names is paid:
 *
 * | slots            | hold                                                        |
 * |------------------|-------------------------------------------------------------|
 * | every 50th       | a payment to each account                                   |
 * | 25, 525, 1,025 … | a payment to each account that is gone when 20 slots follow |
 */

/** 1 January 2026. */
const START_MS = 1_767_225_600_000;
const SLOT_MS = 400;
const FINAL_SLOTS = 32;
const PAID_SLOTS = 50;
const UNDONE_SLOTS = 500;
const UNDONE_AT = 25;
const UNDONE_DEPTH = 20;
/** Half an hour, so that a service that starts after a weekend does not deliver thousands of payments. */
const KEPT_SLOTS = 4_500;

/** In the smallest unit of a token with six decimals. */
const AMOUNTS = [25_000_000n, 9_990_000n, 120_500_000n, 4_000_000n, 49_900_000n] as const;
const CYCLE = AMOUNTS.reduce((sum, amount) => sum + amount, 0n);
const UNDONE_AMOUNT = 13_000_000n;

const ADDRESS_BYTES = 32;
const SIGNATURE_BYTES = 64;
const MARK = Uint8Array.fromHex(PRACTICE_MARK);

/** An address or a hash of the made-up network: its mark, and a word at its end. */
export function practiceAddress(word: Uint8Array): string {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  bytes.set(MARK);
  bytes.set(word, ADDRESS_BYTES - word.length);
  return encodeBase58(bytes);
}

export type PracticePayment = { readonly account: string; readonly slot: number };

export class PracticeSlots {
  constructor(readonly head: number) {}

  static at(dateMs: number): PracticeSlots {
    return new PracticeSlots(Math.max(0, Math.floor((dateMs - START_MS) / SLOT_MS)));
  }

  get final(): number {
    return Math.max(0, this.head - FINAL_SLOTS);
  }

  /** The first slot whose payments the network still lists. It changes every half hour. */
  get oldest(): number {
    return Math.max(0, (Math.floor(this.head / KEPT_SLOTS) - 1) * KEPT_SLOTS);
  }

  blockS(slot: number): number {
    return Math.floor((START_MS + slot * SLOT_MS) / 1_000);
  }

  hashOf(slot: number): string {
    return practiceAddress(wordOf(slot));
  }

  /** Null for a slot without payments. */
  amountIn(slot: number): bigint | null {
    if (slot <= 0 || slot > this.head) return null;
    if (slot % PAID_SLOTS === 0) return AMOUNTS[(slot / PAID_SLOTS) % AMOUNTS.length] ?? null;
    return slot % UNDONE_SLOTS === UNDONE_AT && this.head < slot + UNDONE_DEPTH ? UNDONE_AMOUNT : null;
  }

  /** The balance of every account after a slot: the sum of its payments. */
  balanceAfter(slot: number): bigint {
    const payments = Math.floor(slot / PAID_SLOTS);
    const rest = payments % AMOUNTS.length;
    let sum = BigInt((payments - rest) / AMOUNTS.length) * CYCLE;
    for (let place = 1; place <= rest; place++) sum += AMOUNTS[place % AMOUNTS.length] ?? 0n;
    const undone = slot - (slot % UNDONE_SLOTS) + UNDONE_AT;
    return undone <= slot && this.amountIn(undone) !== null ? sum + UNDONE_AMOUNT : sum;
  }

  /** The slots with payments, newest first. */
  paidSlots(): number[] {
    const slots: number[] = [];
    for (let slot = this.head; slot >= this.oldest; slot--) if (this.amountIn(slot) !== null) slots.push(slot);
    return slots;
  }

  /** Null for a transaction that the network does not have, or no longer. */
  find(signature: string): PracticePayment | null {
    const bytes = signature.length > 88 ? null : decodeBase58(signature);
    if (bytes?.length !== SIGNATURE_BYTES) return null;
    const account = encodeBase58(bytes.subarray(0, ADDRESS_BYTES));
    const slot = Number.parseInt(bytes.subarray(SIGNATURE_BYTES - 8).toHex(), 16);
    return this.amountIn(slot) !== null && signatureOf({ account, slot }) === signature ? { account, slot } : null;
  }
}

export function signatureOf({ account, slot }: PracticePayment): string {
  const bytes = new Uint8Array(SIGNATURE_BYTES);
  bytes.set(decodeBase58(account) ?? []);
  bytes.set(MARK, ADDRESS_BYTES);
  bytes.set(wordOf(slot), SIGNATURE_BYTES - 8);
  return encodeBase58(bytes);
}

function wordOf(slot: number): Uint8Array {
  return Uint8Array.fromHex(slot.toString(16).padStart(16, '0'));
}
