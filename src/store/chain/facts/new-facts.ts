import type { Evidence, FactChange, FactKey, FoundFact, Position } from '../../../domain/chain/facts.ts';
import { ruleAmount } from '../../../domain/chain/finality-by-amount.ts';
import { amountKey, paymentColumns } from '../../../domain/chain/payments.ts';
import type { Votes } from '../../../domain/chain/witnesses.ts';
import { parseDecimal } from '../../../domain/payload-filter/decimal.ts';
import type { Dialect, Queries } from '../../database/database.ts';
import { chunks, type RowOf, textByRows } from '../../database/sql.ts';
import { factTable } from '../tables.ts';
import { historyOf } from './fact-history.ts';

/** The rows of facts that a poll has found. A backfill writes a thousand of them in a step. */

export const factColumns = factTable.pick(
  factTable.namesBut(
    ...(['sourceId', 'isDust', 'payer', 'payee', 'createdAtMs', 'changedAtMs'] as const),
    ...(['lostAtHead', 'askedAtMs', 'nextAskBlock', 'absences'] as const),
  ),
);
export type FactRow = RowOf<typeof factColumns>;

export type Moment = { readonly networkId: number; readonly nowMs: number; readonly final: number | null };

/** A fact that a poll took for new was stored already. */
export class KnownFactError extends Error {
  override readonly name = 'KnownFactError';

  constructor() {
    super('a fact is stored already');
  }
}

const NEW_FACT = factTable.bulkInsertion(
  factTable.namesBut('lostAtHead', 'eventNo', 'askedAtMs', 'nextAskBlock', 'absences'),
);

const keyColumns = factTable.pick(['entityId', 'factId']);

/** The texts for each dialect, kept because most of them have thousands of parameters. */
const newFactTexts = new WeakMap<Dialect, (rows: number) => string>();

function newFactText(dialect: Dialect, rows: number): string {
  const write = (count: number) => `${NEW_FACT.text(dialect, count)} on conflict (entity_id, id) do nothing`;
  const texts = newFactTexts.get(dialect) ?? textByRows(write);
  newFactTexts.set(dialect, texts);
  return texts(rows);
}

function byKey({ fact: a }: { readonly fact: FactKey }, { fact: b }: { readonly fact: FactKey }): number {
  if (a.entityId !== b.entityId) return a.entityId < b.entityId ? -1 : 1;
  return a.factId < b.factId ? -1 : 1;
}

/**
 * Returns the facts that were new. They are written in the order of their ids, because the facts of
 * a step have one date. Each index that ends with the date and the id then grows at one place.
 */
export async function insertFacts(
  queries: Queries,
  dialect: Dialect,
  facts: readonly Extract<FactChange, { change: 'seen' }>[],
  revisions: ReadonlyMap<string, number>,
  moment: Moment,
  areNew: boolean,
): Promise<FactRow[]> {
  const inserted: FactRow[] = [];
  const distinct = [...new Map(facts.map((one) => [nameOf(one.fact), one])).values()];
  for (const chunk of chunks(distinct.sort(byKey))) {
    const rows = chunk.map((change) => newRow(change, revisions.get(change.fact.entityId) ?? 0, moment));
    const parameters = NEW_FACT.parameters(dialect, rows);
    if (areNew) {
      if ((await queries.run(newFactText(dialect, rows.length), parameters)) < rows.length) throw new KnownFactError();
      inserted.push(...rows);
      continue;
    }
    const sql = `${newFactText(dialect, rows.length)} returning ${keyColumns.list}`;
    const isNew = new Set((await keyColumns.all(queries, sql, parameters)).map(nameOf));
    inserted.push(...rows.filter((row) => isNew.has(nameOf(row))));
  }
  return inserted;
}

/** Avoids spread operators. For the thousands of facts of a backfill, they took longer than everything else. */
function newRow(
  { fact, evidence }: Extract<FactChange, { change: 'seen' }>,
  seenRevision: number,
  { nowMs, final }: Moment,
) {
  const { position } = fact;
  const { state, votes, isDisputed } = standingAt(position, final, evidence);
  const { isPayment, payer, payee, token, amount } = paymentColumns(fact.kind, fact.fields);
  const { blockNumber, blockHash, logIndex } = position;
  // The history of a fact that was found below finality begins with `final`.
  const history = historyOf({ atMs: nowMs, state, revision: 1, blockNumber, blockHash, logIndex, isDisputed });
  return {
    entityId: fact.entityId,
    factId: fact.factId,
    networkId: fact.networkId,
    sourceId: fact.sourceId,
    state,
    revision: 1,
    kind: fact.kind,
    isSilent: fact.isSilent ? 1 : 0,
    transactionHash: fact.transactionHash,
    contract: fact.contract,
    blockNumber,
    blockHash,
    logIndex,
    transferId: fact.transferId,
    agreementId: fact.agreementId,
    eventNo: null,
    seenRevision,
    fields: JSON.stringify(fact.fields),
    votes,
    isDisputed,
    isPayment,
    isDust: fact.isDust === true ? 1 : 0,
    payer,
    payee,
    token,
    amount,
    ruleAmount: ruleAmount(fact.networkId, { token, amount }, expectedAmount(fact)),
    blockS: position.blockS ?? null,
    invoiceId: fact.invoice?.invoiceId ?? null,
    invoiceBase: fact.invoice?.base ?? null,
    history,
    createdAtMs: nowMs,
    changedAtMs: nowMs,
  };
}

/** Rules by amount compare the amount of the invoice, and not of the payment, so that payments in parts get no lower finality. */
function expectedAmount({ invoice }: FoundFact): string | null {
  const decimal = invoice === undefined ? null : parseDecimal(invoice.amount);
  return decimal === null ? null : amountKey(decimal);
}

/** Below finality, a fact is final only if enough nodes have shown it. */
export function standingAt(
  { blockNumber }: Pick<Position, 'blockNumber'>,
  final: number | null,
  evidence: Evidence | undefined,
): Pick<FactRow, 'state' | 'votes' | 'isDisputed'> {
  const isFinal = final !== null && blockNumber <= final && evidence?.standing === 'confirmed';
  return {
    state: isFinal ? 'final' : 'seen',
    votes: evidence === undefined ? null : textOf(evidence.votes),
    isDisputed: evidence?.standing === 'disputed' ? 1 : 0,
  };
}

const voteTexts = new WeakMap<Votes, string>();

/** Keeps the text of votes, because the facts of a backfill share their votes. */
function textOf(votes: Votes): string {
  const text = voteTexts.get(votes) ?? JSON.stringify(votes);
  voteTexts.set(votes, text);
  return text;
}

export function nameOf({ entityId, factId }: FactKey): string {
  return `${entityId} ${factId}`;
}
