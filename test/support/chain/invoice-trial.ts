import type { Follower } from '../../../src/chain/follow/follower.ts';
import type { NewInvoice } from '../../../src/contract/chain/new-invoice.ts';
import { NATIVE_TOKEN } from '../../../src/domain/chain/coin.ts';
import { DomainError } from '../../../src/domain/errors.ts';
import { acceptFactEvents } from '../../../src/store/chain/fact-events.ts';
import { cancelInvoice } from '../../../src/store/chain/invoices/cancel.ts';
import { createInvoices } from '../../../src/store/chain/invoices/create.ts';
import type { PreparedInvoice } from '../../../src/store/chain/invoices/new-invoices.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { TEST_CHANGE } from '../api.ts';
import { seededRandom } from '../random.ts';
import { alteredQueries, alteredStore } from '../stores.ts';
import { newEntity, register } from '../webhooks.ts';
import { type ExpectedInvoice, InvoiceJudge, type ModelPayment } from './invoice-judge.ts';
import { definitionOf, presetLog, sourceOf } from './logs.ts';
import { addressOf, GENESIS_S, ModelChain, type ModelTransaction, type TransactionOptions } from './model-chain.ts';
import { ModelNode } from './model-node.ts';
import { storeFollower } from './store-follower.ts';

/**
 * Invoices on a chain in memory that forks, followed by two instances in turns. Invoices, payments, forks, acceptances and crashes
 * happen at random, also during polls. At the end, the trial compares what webhooks got with the chain.
 */

const PAYER = addressOf(9);
const TOKEN = addressOf(77);
const POLL_MS = 2_000;
const BLOCK_S = 2;
const FINAL_DEPTH = 8;
const FINALITIES = ['seen', '3', 'final'] as const;
const HOOK = 'https://hooks.example.com/';
let lastNetworkId = 16_000;

export type TrialOptions = {
  readonly seed: number;
  readonly invoices: number;
  /** Of 100 transactions, how many end with the death of their process, before or after the commit. */
  readonly kills: number;
  /** Whether the invoices are in the coin of the network; a token if absent. */
  readonly isCoin?: boolean;
};

export class InvoiceTrial {
  readonly networkId = ++lastNetworkId;
  readonly chain = new ModelChain(BLOCK_S);
  readonly invoices: ExpectedInvoice[] = [];
  kills = 0;
  readonly #random;
  readonly #token: string;
  readonly #paid = new Map<string, ModelPayment>();
  readonly #model: ModelNode;
  readonly #followers: readonly Follower[];
  readonly #judge: InvoiceJudge;
  #ms = 0;
  #isActing = true;
  #lastAct: Promise<void> = Promise.resolve();
  #addresses = 1_000;

  private constructor(
    private readonly db: Database,
    private readonly entityId: string,
    private readonly options: TrialOptions,
  ) {
    this.#random = seededRandom(options.seed);
    this.#token = options.isCoin === true ? NATIVE_TOKEN : TOKEN;
    this.#judge = new InvoiceJudge({
      db,
      entityId,
      networkId: this.networkId,
      chain: this.chain,
      invoices: this.invoices,
      paid: this.#paid,
      finalities: FINALITIES,
    });
    this.chain.mineEmpty(20);
    this.#model = new ModelNode(this.chain, { chainId: this.networkId, finalized: FINAL_DEPTH, safe: FINAL_DEPTH });
    this.#followers = ['first', 'second'].map((holder) => this.#newFollower(holder));
  }

  static async start(db: Database, options: TrialOptions): Promise<InvoiceTrial> {
    const entityId = await newEntity(db);
    const trial = new InvoiceTrial(db, entityId, options);
    const { networkId } = trial;
    for (const finality of FINALITIES) {
      const event = finality === 'final' ? 'TransferFinalized' : 'TransferProcessed';
      await register(db, entityId, `${HOOK}${finality}`, [{ networkId, event }]);
    }
    await db.transaction((queries) =>
      queries.run(`update webhooks set finality = '3', finality_levels = '3' where entity_id = $1 and post_url = $2`, [
        entityId,
        `${HOOK}3`,
      ]),
    );
    for (const event of ['TransferCreated', 'LatePayment']) {
      await register(db, entityId, `${HOOK}invoices`, [{ networkId, event }]);
    }
    return trial;
  }

  #newFollower(holder: string): Follower {
    const exchange = async (payload: unknown) => {
      while (this.#isActing && this.#random.below(3) === 0) await this.#actInTurn();
      return this.#model.exchange(payload);
    };
    const { networkId } = this;
    const nowMs = () => this.#ms;
    return storeFollower(this.#mortal(), { networkId, exchanges: { [holder]: exchange }, nowMs, holder });
  }

  /** The store of a process that dies now and then: in a transaction, or after its commit and before it knows of it. */
  #mortal(): Database {
    const dies = () => this.#isActing && this.#random.below(100) < this.options.kills;
    return alteredStore(this.db, {
      transaction: async (work, options) => {
        let left = dies() ? this.#random.below(12) : Number.POSITIVE_INFINITY;
        const count = async () => {
          if (left-- === 0) this.#die();
        };
        const result = await this.db.transaction(
          (queries) =>
            work(
              alteredQueries(queries, {
                all: (...given) => count().then(() => queries.all(...given)),
                get: (...given) => count().then(() => queries.get(...given)),
                run: (...given) => count().then(() => queries.run(...given)),
              }),
            ),
          options,
        );
        if (dies()) this.#die();
        return result;
      },
    });
  }

  #die(): never {
    this.kills++;
    throw new Error('the process died');
  }

  /** One request after another, so that the trial knows their order. Polls are concurrent with them. */
  #actInTurn(): Promise<void> {
    this.#lastAct = this.#lastAct.then(() => this.#act());
    return this.#lastAct;
  }

  async #act(): Promise<void> {
    const action = this.#random.below(12);
    if (action < 3 && this.invoices.length < this.options.invoices) await this.#create();
    else if (action === 3) await this.#cancel();
    else if (action < 6) await this.#accept();
    else this.#mine();
  }

  /** By the time of the network: the clock has no part in it. */
  get #nowS(): number {
    return GENESIS_S + this.chain.head * BLOCK_S;
  }

  async #create(): Promise<void> {
    const random = this.#random;
    const isShared = random.below(4) === 0;
    const count = 1 + random.below(3);
    const prepared = Array.from({ length: count }, (_, at): PreparedInvoice => {
      const address = isShared ? addressOf(900) : addressOf(++this.#addresses);
      const base = isShared ? BigInt(1_000 + this.#addresses * 3 + at) : 100n;
      const terms: NewInvoice = {
        ...{ networkId: this.networkId, token: this.#token, address, amount: '100', watchDays: 1 },
        tolerancePercent: isShared ? 0 : random.below(3) / 2,
        dateExpires: this.#nowS + 60 + random.below(60),
        match: isShared ? 'exact' : 'address',
        ...(random.below(2) === 0 && { reference: `${this.networkId} ${this.invoices.length + at}` }),
      };
      const token = this.#token;
      return { terms, token, address, shownToken: token, shownAddress: address, decimals: 0, base };
    });
    const preset = this.options.isCoin === true ? 'native' : 'erc20';
    const { topic } = sourceOf({ preset, contract: this.#token });
    const definition = {
      ...definitionOf({ networkId: this.networkId, preset, contract: this.#token }),
      addressBook: 'to',
    };
    const reading = { definition, topic, topics: [null, null, null, null], bookPlace: 2 };
    const results = await createInvoices(this.db, {
      ...{ entityId: this.entityId, networkId: this.networkId, invoices: prepared, nowS: this.#nowS },
      ...{ readings: new Map([[this.#token, reading]]), head: this.chain.head },
      limits: { invoices: 10_000, sources: 100, book: { ofEntity: 100_000, ofNetwork: 100_000 } },
    });
    for (const [at, result] of (results ?? []).entries()) {
      const given = prepared[at];
      if (result instanceof DomainError || given === undefined || !result.isNew) continue;
      const { invoiceId, fromBlock } = result;
      this.#replace(given, fromBlock - 1);
      const state = { isCancelled: false, untilBlock: null };
      this.invoices.push({ invoiceId, fromBlock, address: given.address, prepared: given, ...state });
    }
  }

  /** Once an invoice is paid and final, a new invoice on the same shared address may have the same amount. */
  #replace({ address, base }: PreparedInvoice, untilBlock: number): void {
    for (const one of this.invoices) {
      const isInPlace = one.address === address && one.prepared.base === base && !one.isCancelled;
      if (isInPlace) one.untilBlock ??= untilBlock;
    }
  }

  async #cancel(): Promise<void> {
    const invoice = this.invoices[this.#random.below(Math.max(1, this.invoices.length))];
    if (invoice === undefined) return;
    try {
      await cancelInvoice(this.db, this.entityId, invoice.invoiceId, TEST_CHANGE);
      invoice.isCancelled = true;
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }

  /** A publisher that may die, and that an instance which lost the lease may still run. */
  async #accept(): Promise<void> {
    try {
      await this.#acceptSome(this.#mortal());
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'the process died') throw error;
    }
  }

  #acceptSome(db: Database): Promise<number> {
    const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
    const options = { acceptQueue, isFull: async () => false, firstDelayMs: 0, onTask: () => undefined };
    return acceptFactEvents(db, this.networkId, options);
  }

  #pay(): ModelTransaction {
    const random = this.#random;
    const newest = random.below(3) > 0;
    const invoice = this.invoices[newest ? this.invoices.length - 1 : random.below(Math.max(1, this.invoices.length))];
    const address = invoice?.address ?? addressOf(999);
    const amounts = [100n, 50n, 50n, 99n, 30n, 1n, 120n, 0n];
    const isExact = invoice?.prepared.terms.match === 'exact' && random.below(4) > 0;
    const base = isExact ? invoice.prepared.base : (amounts[random.below(amounts.length)] ?? 1n);
    const made = this.chain.transaction(this.#payment(address, base));
    this.#paid.set(made.hash, { address, base });
    // A transaction that failed moves no coin.
    if (this.options.isCoin === true && random.below(8) === 0) {
      const failed = { ...this.chain.transaction(this.#payment(address, base)), isSuccess: false };
      return random.below(2) === 0 ? failed : made;
    }
    return made;
  }

  #payment(address: string, base: bigint): TransactionOptions {
    if (this.options.isCoin === true) return { transfer: { from: PAYER, to: address, value: base } };
    return { logs: [{ ...presetLog('erc20', [PAYER, address, base]), address: TOKEN }] };
  }

  #mine(): void {
    this.chain.mine(Array.from({ length: this.#random.below(3) }, () => this.#pay()));
  }

  #fork(): void {
    const depth = 1 + this.#random.below(5);
    const dropped = this.chain.blocks.slice(-depth).flatMap(({ transactions }) => transactions);
    const blocks = Array.from({ length: depth + 1 }, (): ModelTransaction[] => []);
    for (const payment of dropped) if (this.#random.below(3) > 0) blocks[this.#random.below(depth + 1)]?.push(payment);
    this.chain.fork(depth, blocks);
  }

  /** Both instances poll at the same time. The lease of one often ends in the middle of its poll. */
  async #poll(): Promise<boolean> {
    this.#ms += POLL_MS;
    if (this.#isActing && this.#random.below(3) === 0) {
      const sql = 'update chains set lease_ms = 0 where network_id = $1';
      await this.db.transaction((queries) => queries.run(sql, [this.networkId]));
    }
    const order = this.#random.below(2) === 0 ? this.#followers : this.#followers.toReversed();
    const results = await Promise.allSettled(order.map((follower) => follower.poll()));
    for (const result of results) {
      if (result.status === 'rejected' && result.reason?.message !== 'the process died') throw result.reason;
    }
    await this.#judge.lookForLate();
    return results.some((result) => result.status === 'fulfilled' && result.value.hasBackfill);
  }

  async run(): Promise<void> {
    for (let round = 0; round < 400 && (round < 40 || this.invoices.length < this.options.invoices); round++) {
      for (let block = this.#random.below(3); block > 0; block--) this.#mine();
      if (this.#random.below(4) === 0) this.#fork();
      await this.#poll();
    }
    // Long enough for every expiry and for finality.
    for (let round = 0; round < 90; round++) {
      this.chain.mine();
      if (round < 40 && this.#random.below(6) === 0) this.#fork();
      await this.#poll();
      if (this.#random.below(3) === 0) await this.#accept();
    }
    this.#isActing = false;
    for (let round = 0; round < 30; round++) {
      this.chain.mine();
      await this.#poll();
    }
    for (let rounds = 0; (await this.#poll()) && rounds < 200; rounds++);
    while ((await this.#acceptSome(this.db)) > 0);
  }

  mistakes(): Promise<string[]> {
    return this.#judge.mistakes();
  }

  get lateCount(): number {
    return this.#judge.lateCount;
  }
}
