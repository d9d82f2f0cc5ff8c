import { NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import { kindsOf } from '../../../domain/chain/facts.ts';
import { finalityOf, type Levels } from '../../../domain/chain/finality.ts';
import {
  countsInEvents,
  type FoldedInvoice,
  hasReached,
  type InvoicePayment,
  isUnpaid,
} from '../../../domain/chain/invoices/invoice-state.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import type { Queries, SqlValue } from '../../database/database.ts';
import { chunks, type RowOf, valuesList } from '../../database/sql.ts';
import type { RetractedRow } from '../fact-changes.ts';
import type { FactRow } from '../facts/new-facts.ts';
import { addEvent, type PublishContext, wantedEvent } from '../publish/facts.ts';
import type { Outbox, OutboxEvent } from '../publish/outbox.ts';
import type { Reached } from '../reached.ts';
import { factEventTable } from '../tables.ts';
import { invoiceMember, invoicePayload, invoiceSubject } from './payload.ts';
import {
  foldRows,
  type InvoiceFact,
  type InvoiceKey,
  type InvoiceRow,
  keyOfInvoice,
  type PublishedEvents,
  paymentOf,
  readFactsOfInvoices,
  readInvoices,
  readPublished,
  termsOf,
} from './rows.ts';

/**
 * Adds the state of invoices to the events of a step.
 *
 * Each event of a payment has the state of its invoice, counted at the finality of the event, with a version that rises by
 * invoice and finality. The event with the highest version is true, because every change of the sum has an event:
 *
 * | the sum changes because …           | event                                                                          |
 * |-------------------------------------|--------------------------------------------------------------------------------|
 * | a payment reaches the finality      | the event of the payment                                                       |
 * | a payment is retracted              | `EventRetracted` for each finality at which it was published                   |
 * | a webhook asks for a new finality   | the events of all payments that count at it, before the first that counts them |
 *
 * If a payment is retracted while events of its invoice wait for acceptance, Paybell makes these events again. They may count the
 * retracted payment, which gets no `EventRetracted` if it was not published yet.
 */

export type InvoiceStep = PublishContext & {
  readonly levels: Levels;
  /** Payments that have reached a finality. */
  readonly reached: readonly Reached[];
  readonly retracted: readonly RetractedRow[];
  /** Invoices whose expiry has passed with this step, and the tip. */
  readonly passed: readonly InvoiceKey[];
  readonly tip: number;
};

export async function publishInvoices(queries: Queries, outbox: Outbox, step: InvoiceStep): Promise<void> {
  const keys = new Map<string, InvoiceKey>(step.passed.map((key) => [keyOfInvoice(key), key]));
  for (const { entityId, invoiceId } of [...step.reached.map(({ fact }) => fact), ...step.retracted]) {
    if (invoiceId !== null) keys.set(keyOfInvoice({ entityId, invoiceId }), { entityId, invoiceId });
  }
  if (keys.size === 0) return;
  const rows = await readInvoices(queries, [...keys.values()]);
  const facts = await readFactsOfInvoices(queries, [...keys.values()]);
  const published = await readPublished(queries, [...facts.values()].flat());
  const passed = new Set(step.passed.map(keyOfInvoice));
  const retracted = new Set(step.retracted.map(keyOfFact));
  const made = Map.groupBy(outbox.events, ({ fact }) => keyOfFact(fact));
  for (const [key, invoice] of rows) {
    const own = facts.get(key) ?? [];
    const events = new InvoiceEvents(queries, outbox, step, published, {
      invoice: passed.has(key) ? { ...invoice, passedBlock: step.tip } : invoice,
      facts: own,
      made: own.flatMap((fact) => (made.get(keyOfFact(fact)) ?? []).filter((event) => isNew(event, fact, published))),
    });
    if (own.some((fact) => retracted.has(keyOfFact(fact)))) await events.makeWaitingAgain();
    events.publish();
    events.callLate();
    await events.write();
  }
}

/** Whether the event is new. A payment that moved to another block has the events of its finality already. */
function isNew({ event, finality }: OutboxEvent, fact: InvoiceFact, published: PublishedEvents): boolean {
  return event === RETRACTION || !published.has(fact, event, finality);
}

function keyOfFact({ entityId, factId }: Pick<FactRow, 'entityId' | 'factId'>): string {
  return `${entityId} ${factId}`;
}

const removedColumns = factEventTable.pick(['entityId', 'factId', 'revision', 'event', 'finality']);
type Removed = RowOf<typeof removedColumns>;

type Parts = {
  readonly invoice: InvoiceRow;
  readonly facts: readonly InvoiceFact[];
  /** The new events of its payments. */
  readonly made: readonly OutboxEvent[];
};

/** The events of one invoice in one step. */
class InvoiceEvents {
  readonly #versions: Record<string, number>;
  readonly #finalities = new Set<string>();
  #lateBlock: number | null;
  #isBalanceDue = false;

  constructor(
    private readonly queries: Queries,
    private readonly outbox: Outbox,
    private readonly step: InvoiceStep,
    private readonly published: PublishedEvents,
    private readonly parts: Parts,
  ) {
    this.#versions = JSON.parse(parts.invoice.versions) as Record<string, number>;
    this.#lateBlock = parts.invoice.lateBlock;
  }

  /** Removes the events of the invoice that wait for their acceptance, so that `publish` makes them again with the present state. */
  async makeWaitingAgain(): Promise<void> {
    const removed: Removed[] = [];
    for (const chunk of chunks(this.parts.facts)) {
      const rows = await removedColumns.all(
        this.queries,
        `delete from fact_events where event_no is null and event <> '${RETRACTION}' and (entity_id, fact_id) in
           (values ${valuesList(chunk.length, 2)}) returning ${removedColumns.list}`,
        chunk.flatMap(({ entityId, factId }): SqlValue[] => [entityId, factId]),
      );
      removed.push(...rows);
    }
    for (const row of removed) {
      this.published.remove(row);
      this.#finalities.add(row.finality);
    }
  }

  publish(): void {
    const { made, facts } = this.parts;
    for (const { finality } of made) this.#finalities.add(finalityIn(finality));
    const has = new Set(made.map((event) => nameOf(event.fact, event.event, event.finality)));
    for (const finality of this.#finalities) {
      const due = facts.flatMap((fact) =>
        kindsOf(fact.kind).flatMap((event) =>
          !has.has(nameOf(fact, event, finality)) && this.#isDue(fact, event, finality)
            ? addEvent(this.outbox, fact, event, finality, this.step)
            : [],
        ),
      );
      const folded = this.#fold(finality);
      for (const { payload, finality: target } of [...made, ...due]) {
        if (payload !== null && finalityIn(target) === finality) payload.invoice = this.#member(folded, finality);
      }
    }
  }

  /** Marks an invoice as late once, even if no webhook wants the event, because later webhooks get no events of the past. */
  callLate(): void {
    const { invoice, facts } = this.parts;
    if (this.#lateBlock !== null || invoice.passedBlock === null || invoice.dateCancelled !== null) return;
    if (!isUnpaid(termsOf(invoice), facts.map(paymentOf))) return;
    this.#lateBlock = this.step.tip;
    this.#isBalanceDue = invoice.token === NATIVE_TOKEN;
    const { wanted, nowMs, symbols } = this.step;
    if (wanted.of({ entityId: invoice.entityId, event: 'LatePayment', moment: 'now', ruleAmount: null }).size === 0)
      return;
    const payload = invoicePayload(invoice, 'LatePayment', {
      nowMs,
      symbol: symbols.get(invoice.token) ?? null,
      member: this.#member(this.#fold(LATE_FINALITY), LATE_FINALITY),
    });
    this.outbox.add({ fact: invoiceSubject(invoice), event: 'LatePayment', finality: LATE_FINALITY, payload });
  }

  async write(): Promise<void> {
    const { entityId, invoiceId, passedBlock } = this.parts.invoice;
    await this.queries.send(
      `update invoices set versions = $3, passed_block = $4, late_block = $5,
         balance_due = case when $6 = 1 then 1 else balance_due end
       where entity_id = $1 and id = $2`,
      [
        ...[entityId, invoiceId, JSON.stringify(this.#versions), passedBlock, this.#lateBlock],
        this.#isBalanceDue ? 1 : 0,
      ],
    );
  }

  /** Whether the payment counts at the finality, a webhook wants its event at the finality, and no such event exists. */
  #isDue(fact: InvoiceFact, event: string, finality: string): boolean {
    return (
      fact.isSilent === 0 &&
      !this.published.has(fact, event, finality) &&
      hasReached(paymentOf(fact), finalityOf(finality), this.step.levels) &&
      this.step.wanted.of(wantedEvent(fact, event)).has(finality)
    );
  }

  #fold(finality: string): FoldedInvoice {
    const { published, step, parts } = this;
    const isCounted = (payment: InvoicePayment, fact: InvoiceFact) =>
      countsInEvents(payment, finalityOf(finality), step.levels, published.hasFinality(fact, finality));
    return foldRows(parts.invoice, parts.facts, isCounted);
  }

  #member(folded: FoldedInvoice, finality: string): Record<string, unknown> {
    const version = (this.#versions[finality] ?? 0) + 1;
    this.#versions[finality] = version;
    return invoiceMember(this.parts.invoice, folded, version);
  }
}

function nameOf(fact: Pick<FactRow, 'entityId' | 'factId'>, event: string, finality: string): string {
  return `${keyOfFact(fact)} ${event} ${finality}`;
}

/** The finality at which an invoice is late. */
const LATE_FINALITY = 'seen';

/** The finality in the target of a retraction, such as `TransferProcessed_seen`. */
function finalityIn(text: string): string {
  return text.slice(text.lastIndexOf('_') + 1);
}
