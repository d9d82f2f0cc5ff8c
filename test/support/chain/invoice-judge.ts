import { isDustFor, paidRange } from '../../../src/domain/chain/invoices/invoice-state.ts';
import type { PreparedInvoice } from '../../../src/store/chain/invoices/new-invoices.ts';
import type { Database } from '../../../src/store/database/database.ts';
import type { ModelChain, ModelTransaction } from './model-chain.ts';

/** Compares the invoices of a trial and their events with the chain. */

export type ExpectedInvoice = {
  readonly invoiceId: string;
  readonly address: string;
  readonly prepared: PreparedInvoice;
  readonly fromBlock: number;
  isCancelled: boolean;
  /** The last block that counts for the invoice; null until a later invoice takes its place. */
  untilBlock: number | null;
};

export type ModelPayment = { readonly address: string; readonly base: bigint };
type Row = Record<string, string | number | null>;
type Body = {
  readonly event: string;
  readonly finality?: string | number;
  readonly retracts?: { readonly eventId: string };
  readonly invoice?: {
    readonly invoiceId: string;
    readonly received: string;
    readonly state: string;
    readonly version: number;
  };
};

export type Scene = {
  readonly db: Database;
  readonly entityId: string;
  readonly networkId: number;
  readonly chain: ModelChain;
  readonly invoices: readonly ExpectedInvoice[];
  /** By the hash of the transaction. */
  readonly paid: ReadonlyMap<string, ModelPayment>;
  readonly finalities: readonly string[];
};

export class InvoiceJudge {
  readonly #mistakes: string[] = [];
  readonly #late = new Set<string>();

  constructor(private readonly scene: Scene) {}

  /** Whoever is called late now was not paid in the blocks up to then, on the branch that Paybell follows. */
  async lookForLate(): Promise<void> {
    const rows = await this.scene.db.all<Row>(
      `select id, passed_block, late_block from invoices where entity_id = $1 and late_block is not null`,
      [this.scene.entityId],
    );
    for (const { id, late_block } of rows) {
      if (this.#late.has(String(id))) continue;
      this.#late.add(String(id));
      const invoice = this.scene.invoices.find(({ invoiceId }) => invoiceId === id);
      const branch = await this.#branch();
      if (invoice === undefined || branch === null) continue;
      const { least } = paidRange({ amount: invoice.prepared.base, tolerance: toleranceOf(invoice), dateExpires: 0 });
      const blocks = branch.slice(0, Number(late_block) + 1);
      const received = this.#sumOf(invoice, blocks);
      if (received >= least) this.#mistakes.push(`${id} is late at ${late_block} with ${received}`);
      const time = blocks.at(-1)?.timestampS ?? 0;
      if (time <= invoice.prepared.terms.dateExpires) this.#mistakes.push(`${id} is late before its expiry`);
    }
  }

  /** The blocks of the branch that the stored tip is on. */
  async #branch() {
    const row = await this.scene.db.get<Row>('select tip_number, tip_hash from chains where network_id = $1', [
      this.scene.networkId,
    ]);
    const view = this.scene.chain.views.findLast(
      ({ blocks }) => blocks[Number(row?.tip_number)]?.hash === row?.tip_hash,
    );
    return view?.blocks ?? null;
  }

  #sumOf(
    invoice: ExpectedInvoice,
    blocks: readonly { readonly number: number; readonly transactions: readonly ModelTransaction[] }[],
  ) {
    return blocks
      .filter(({ number }) => number >= invoice.fromBlock)
      .flatMap(({ transactions }) => transactions)
      .flatMap(({ hash }) => this.scene.paid.get(hash) ?? [])
      .filter(({ address, base }) => address === invoice.address && counts(invoice, base))
      .reduce((sum, { base }) => sum + base, 0n);
  }

  /** Everything that is wrong at the end: nothing, if webhooks know what the chain says. */
  async mistakes(): Promise<string[]> {
    const wrong = this.#mistakes;
    const { entityId } = this.scene;
    const invoices = await this.scene.db.all<Row>('select * from invoices where entity_id = $1', [entityId]);
    const events = await this.scene.db.all<Row>('select event_id, body from events where event_id is not null', []);
    const bodies = events
      .map(({ event_id, body }) => ({ id: String(event_id), body: JSON.parse(String(body)) as Body }))
      .filter(({ body }) => this.scene.invoices.some(({ invoiceId }) => invoiceId === body.invoice?.invoiceId));
    for (const invoice of this.scene.invoices) {
      const row = invoices.find(({ id }) => id === invoice.invoiceId);
      const own = bodies.filter(({ body }) => body.invoice?.invoiceId === invoice.invoiceId);
      const stored = await this.#storedSum(invoice);
      for (const finality of this.scene.finalities) this.#checkVersions(invoice, finality, own, stored);
      if (own.filter(({ body }) => body.event === 'TransferCreated').length !== 1) {
        wrong.push(`${invoice.invoiceId} was not created once`);
      }
      this.#checkCalledLate(invoice, row, stored, own);
    }
    const open = await this.scene.db.all<Row>(
      'select 1 as found from fact_events where entity_id = $1 and event_no is null',
      [entityId],
    );
    if (open.length > 0) wrong.push(`${open.length} events wait`);
    return wrong;
  }

  /**
   * The sum of the payments that are final. These are the payments on the chain, in blocks from the first block of the invoice on. A
   * payment that a fork has moved below that block after Paybell had seen it stays with the invoice. On a shared address, a
   * payment that Paybell first stored for another invoice, or for none, does not move to this one.
   */
  async #storedSum(invoice: ExpectedInvoice): Promise<bigint> {
    const { invoiceId, fromBlock } = invoice;
    const facts = await this.scene.db.all<Row>(
      `select transaction_hash, invoice_base, state from facts where entity_id = $1 and invoice_id = $2 and is_dust = 0`,
      [this.scene.entityId, invoiceId],
    );
    if (facts.some(({ state }) => state === 'seen' || state === 'lost'))
      this.#mistakes.push(`${invoiceId} is not final`);
    const final = facts.filter(({ state }) => state === 'final');
    const stored = new Set(final.map(({ transaction_hash }) => String(transaction_hash)));
    for (const { number, transactions } of this.scene.chain.blocks) {
      for (const { hash } of transactions) {
        const payment = this.scene.paid.get(hash);
        if (payment?.address !== invoice.address || !counts(invoice, payment.base)) continue;
        const ever = (this.scene.chain.blocksOf.get(hash) ?? []).map((block) => block.number);
        const places = isShared(invoice) ? ever : [number];
        const isExpected = places.every((one) => one >= fromBlock && one <= (invoice.untilBlock ?? one));
        if (isExpected && !invoice.isCancelled && !stored.has(hash)) {
          this.#mistakes.push(`${invoiceId} lacks ${hash} of block ${number}`);
        }
        if (ever.some((one) => one >= fromBlock)) stored.delete(hash);
      }
    }
    for (const hash of stored) this.#mistakes.push(`${invoiceId} has ${hash}, which is not its payment`);
    return final.reduce((sum, { invoice_base }) => sum + BigInt(String(invoice_base)), 0n);
  }

  /** By finality, in any order of arrival: no version twice, and the highest one has the sum of the chain. */
  #checkVersions(
    invoice: ExpectedInvoice,
    finality: string,
    own: readonly { id: string; body: Body }[],
    sum: bigint,
  ): void {
    const ofFinality = own.filter(({ id, body }) => finalityOf(id, body) === finality);
    const versions = ofFinality.map(({ body }) => body.invoice?.version ?? 0);
    if (new Set(versions).size < versions.length) {
      this.#mistakes.push(`${invoice.invoiceId} has a version twice at ${finality}: ${versions}`);
    }
    const newest = ofFinality.toSorted((a, b) => (b.body.invoice?.version ?? 0) - (a.body.invoice?.version ?? 0))[0];
    const received = newest === undefined ? 0n : BigInt(newest.body.invoice?.received ?? 0);
    if (received !== sum) {
      this.#mistakes.push(`${invoice.invoiceId} at ${finality}: ${received} in ${newest?.id}, and ${sum} on the chain`);
    }
  }

  #checkCalledLate(invoice: ExpectedInvoice, row: Row | undefined, sum: bigint, own: readonly { body: Body }[]): void {
    const { invoiceId } = invoice;
    const events = own.filter(({ body }) => body.event === 'LatePayment').length;
    if (events !== (row?.late_block === null ? 0 : 1)) this.#mistakes.push(`${invoiceId} has ${events} LatePayment`);
    if (invoice.isCancelled || invoice.untilBlock !== null) return;
    if (row?.passed_block === null) this.#mistakes.push(`${invoiceId} has not expired`);
    const { least } = paidRange({ amount: invoice.prepared.base, tolerance: toleranceOf(invoice), dateExpires: 0 });
    if (sum < least && events === 0) this.#mistakes.push(`${invoiceId} has ${sum} and was not called late`);
  }

  get lateCount(): number {
    return this.#late.size;
  }
}

/** The address book may have such an address before this invoice exists. */
function isShared({ prepared }: ExpectedInvoice): boolean {
  return prepared.terms.match === 'exact';
}

function toleranceOf({ prepared }: ExpectedInvoice): number {
  return Math.round(prepared.terms.tolerancePercent * 100);
}

function counts({ prepared }: ExpectedInvoice, base: bigint): boolean {
  if (isDustFor({ amount: prepared.base }, base)) return false;
  return prepared.terms.match === 'address' || prepared.base === base;
}

/** Invoices count their own events at `seen`. */
function finalityOf(eventId: string, { event, finality }: Body): string {
  if (event === 'TransferCreated' || event === 'LatePayment') return 'seen';
  return event === 'EventRetracted' ? eventId.slice(eventId.lastIndexOf('_') + 1) : String(finality);
}
