import { BoundedMap } from '../../../bounded-map.ts';
import { factId } from '../../../domain/chain/fact-id.ts';
import { type FoundFact, TRANSFER } from '../../../domain/chain/facts.ts';
import { formatAmount } from '../../../domain/chain/invoices/amounts.ts';
import { compareDecimals, parseDecimal } from '../../../domain/payload-filter/decimal.ts';
import { readSubject } from '../../../domain/supersession/rules.ts';
import { type FollowedSource, versionsOf } from '../../../store/chain/network-store.ts';
import { type Credit, creditsOf } from './credits.ts';
import { type Compiled, type CompiledSource, compileSource } from './definition.ts';
import type { Transaction } from './transaction.ts';

const MAX_COMPILED = 10_000;
const UNUSABLE = /[\p{Cc}\ufffd]/u;

/** A fact of a credit, before its block is known. */
export type Payment = Omit<FoundFact, 'position'> & { readonly slot: number; readonly place: number };

/** Turns transactions into facts. If several sources of an entity take a credit, it belongs to the oldest source. */
export class PaymentDecoder {
  readonly #compiled = new BoundedMap<string, Compiled>(MAX_COMPILED);

  /** The sources are in the order of their creation. */
  decode(transaction: Transaction, sources: readonly FollowedSource[]): Payment[] {
    const credits = creditsOf(transaction);
    const payments = new Map<string, Payment>();
    for (const source of credits.length === 0 ? [] : sources.flatMap(versionsOf)) {
      const { fromBlock, untilBlock = transaction.slot } = source;
      if (transaction.slot < fromBlock || transaction.slot > untilBlock) continue;
      const compiled = this.compile(source);
      if (compiled === null) continue;
      for (const credit of credits) {
        if (credit.token !== compiled.token || !compiled.wallets.has(credit.payee)) continue;
        const key = `${source.entityId} ${credit.place}`;
        if (!payments.has(key)) payments.set(key, toPayment(transaction, credit, source, compiled));
      }
    }
    return [...payments.values()];
  }

  /**
   * Caches by revision, because a revision of a definition never changes. A definition that this release cannot use makes no
   * facts.
   */
  compile({ sourceId, revision = 1, definition }: FollowedSource): CompiledSource | null {
    const key = `${sourceId} ${revision}`;
    const compiled = this.#compiled.get(key) ?? compileSource(definition);
    if (!this.#compiled.has(key)) this.#compiled.set(key, compiled);
    return compiled.isValid ? compiled.source : null;
  }
}

/** The fact id includes the amount, because a transaction that lands again on another branch may pay another amount. */
function toPayment(
  transaction: Transaction,
  credit: Credit,
  { networkId, entityId, sourceId, createdHead, deliverHistory, revision }: FollowedSource,
  { fields: mapped, minAmount }: CompiledSource,
): Payment {
  const { signature: transactionHash, slot } = transaction;
  const { token, payee, amount, place } = credit;
  const fields = fieldsOf(transaction, credit, mapped);
  const decimal = minAmount === null ? null : parseDecimal(String(fields.amount));
  const isDust = decimal !== null && minAmount !== null && compareDecimals(decimal, minAmount) < 0;
  return {
    entityId,
    factId: factId({ networkId, transactionHash, contract: token, topics: [payee], data: String(amount), n: 0 }),
    networkId,
    sourceId,
    ...(revision === undefined ? {} : { sourceRevision: revision }),
    kind: TRANSFER,
    isSilent: (slot <= createdHead && !deliverHistory) || isDust,
    ...(isDust && { isDust }),
    transactionHash,
    contract: token,
    ...{ slot, place },
    fields,
    transferId: subject(fields.transferId),
    agreementId: subject(fields.agreementId),
  };
}

/** Returns the fields that the transaction proves, and nothing more. */
function fieldsOf(
  { memos, references }: Transaction,
  { token, payee, payer, amount, decimals }: Credit,
  mapped: CompiledSource['fields'],
): Record<string, unknown> {
  const memo = memos.length === 1 ? memos[0] : undefined;
  const reference = references.length === 1 ? references[0] : undefined;
  const amountText = formatAmount(amount, decimals);
  const known = { payer: payer ?? undefined, payee, amount: amountText, token, memo, reference };
  const own = mapped.flatMap(([name, source]) => {
    const value = typeof source === 'string' ? known[source] : source.is;
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...(payer !== null && { payer }),
    ...{ payee, amount: amountText, amountBase: String(amount), token },
    ...(memo !== undefined && { memo }),
    ...(references.length > 0 && { references }),
    ...Object.fromEntries(own),
  };
}

/** A text that a database cannot hold identifies nothing. */
function subject(value: unknown): string | null {
  const text = readSubject(value) ?? '';
  return text !== '' && text.isWellFormed() && !UNUSABLE.test(text) ? text : null;
}
