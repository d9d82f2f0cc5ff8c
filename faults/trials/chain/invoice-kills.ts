import type { Database, SqlUuid } from '../../../src/store/database/database.ts';
import { STATUS_CODES } from '../../../src/store/deliveries/states.ts';
import { type ExpectedInvoice, InvoiceJudge, type ModelPayment } from '../../../test/support/chain/invoice-judge.ts';
import { GENESIS_S, type ModelTransaction } from '../../../test/support/chain/model-chain.ts';
import type { Instance } from '../../../test/support/instances.ts';
import { ENGINES } from '../../../test/support/stores.ts';
import type { Fault, Finding, RunOptions } from '../../fault.ts';
import { countRows, withStore } from '../../harness/store-audit.ts';
import { kill, randomUpTo } from '../../harness/testbed.ts';
import { waitUntil } from '../../harness/waiting.ts';
import { ChainSite } from './chain-site.ts';
import { BLOCK_TIME_S, CONTRACT, type FaultyNetwork } from './network.ts';
import { keyOf } from './told.ts';

/**
 * In turns, a process is killed while a request for invoices is under way, while it reads payments of invoices, and while invoices
 * expire. In the end each invoice exists once, has the sum of its payments at every finality, and has its own events once.
 */

const HOOK = '/invoices';
const OWN_EVENTS = ['TransferCreated', 'LatePayment'];
const FINALITIES = ['seen', '4', 'final'];
const AMOUNT = 100;
/** A share of the payers pays too little. */
const PARTS = [100, 100, 60, 40, 120];
const INVOICES_AT_ONCE = 3;
const PAID_AT_ONCE = 4;
const EXPIRED_AT_ONCE = 3;
/** A request for an invoice takes less on most machines, and so does the commit of a poll after its reading. */
const CREATES_WITHIN_MS = 40;
const WRITES_WITHIN_MS = 120;
const MOST_READS = 3;
const HOUR_S = 3_600;
/** Blocks until the expiry, which come while the process starts. */
const EXPIRY_BLOCKS = 12;
const STAGES = ['registration', 'commit', 'expiry'] as const;

export const killedWithInvoices: Fault = {
  name: 'invoice-kill',
  what: 'SIGKILL while invoices are created, while their payments are read from a network with forks, and while they expire, by two instances on PostgreSQL',
  engines: ENGINES,
  trials: { long: 201, short: 3 },
  run: async (options) => {
    await using site = await ChainSite.open(options);
    const [network] = site.networks;
    return network === undefined ? null : await new InvoiceKills(site, network, options).run();
  },
};

type Wanted = { readonly reference: string; readonly address: string; readonly dateExpires: number };

class InvoiceKills {
  /** Requests without an answer or with 429, which are repeated until they have an invoice, as the client repeats them. */
  readonly #unanswered: Wanted[] = [];
  readonly #invoices: ExpectedInvoice[] = [];
  readonly #paid = new Map<string, ModelPayment>();
  readonly #expired = new Set<string>();
  #running: Instance[] = [];
  #count = 0;
  #open = 0;

  constructor(
    private readonly site: ChainSite,
    private readonly network: FaultyNetwork,
    private readonly options: RunOptions,
  ) {}

  async run(): Promise<Finding> {
    const { site, network, options } = this;
    const { networkId } = network;
    // The node of the trial states no decimals: a token without any has amounts in its smallest unit.
    await site.write(
      `insert into chain_tokens (network_id, address, decimals) values (${networkId}, '${CONTRACT}', 0)`,
    );
    site.mood = 'forking';
    await this.#start();
    await this.#registerHook();
    await this.#create(INVOICES_AT_ONCE);
    for (let round = 1; round <= options.trials; round++) {
      const stage = STAGES[round % STAGES.length] ?? 'commit';
      options.progress(`kill ${round} of ${options.trials}, at ${stage}, with ${this.#invoices.length} invoices`);
      if (stage === 'expiry') await this.#expire(this.#oldest(), EXPIRY_BLOCKS);
      await this.#start();
      await this.#repeatUnanswered();
      if (stage === 'registration') {
        const created = this.#create(INVOICES_AT_ONCE);
        await Bun.sleep(randomUpTo(CREATES_WITHIN_MS));
        await this.#killOne();
        await created;
      } else {
        await this.#pay();
        await this.#afterReading();
        await this.#killOne();
      }
      await site.expireLeases();
    }
    return this.#finish();
  }

  /** On PostgreSQL, a second instance takes over. */
  async #start(): Promise<void> {
    const count = this.options.engine === 'postgres' ? 2 : 1;
    while (this.#running.length < count) this.#running.push(await this.site.start());
  }

  async #killOne(): Promise<void> {
    for (const instance of this.#running.splice(randomUpTo(this.#running.length) - 1, 1)) await kill(instance);
  }

  async #registerHook(): Promise<void> {
    const body = { postUrl: this.site.ledger.url(HOOK), networkIds: [this.network.networkId], events: OWN_EVENTS };
    const response = await this.#request('/webhooks/classic', body);
    if (response?.ok !== true) throw new Error('the webhook of the trial was not registered');
  }

  /** Null without an answer. */
  async #request(path: string, body: object): Promise<Response | null> {
    const instance = this.#running[randomUpTo(this.#running.length) - 1];
    return (await instance?.client.request('POST', path, JSON.stringify(body)).catch(() => null)) ?? null;
  }

  async #create(count: number): Promise<void> {
    const wanted = Array.from({ length: count }, (): Wanted => {
      const number = ++this.#count;
      const address = `0x${(0xaa_0000 + number).toString(16).padStart(40, '0')}`;
      return { reference: `order ${number}`, address, dateExpires: Math.floor(Date.now() / 1000) + HOUR_S };
    });
    await Promise.all(wanted.map((one) => this.#createOne(one)));
  }

  async #createOne(wanted: Wanted): Promise<void> {
    const { networkId } = this.network;
    const place = { networkId, token: CONTRACT, address: wanted.address };
    const terms = { ...place, amount: String(AMOUNT), dateExpires: wanted.dateExpires };
    const response = await this.#request('/invoices', { ...terms, reference: wanted.reference });
    const text = await response?.text().catch(() => null);
    const isRepeated = response === null || response.status === 429 || response.status >= 500;
    if (isRepeated || text === null || text === undefined) {
      this.#unanswered.push(wanted);
      return;
    }
    if (!response.ok) throw new Error(text);
    const { invoiceId, fromBlock } = JSON.parse(text) as { invoiceId: string; fromBlock: number };
    const prepared = {
      terms: { ...terms, tolerancePercent: 0, match: 'address' as const, watchDays: 7 },
      ...{ token: CONTRACT, address: wanted.address, shownToken: CONTRACT, shownAddress: wanted.address },
      ...{ decimals: 0, base: BigInt(AMOUNT) },
    };
    this.#invoices.push({
      invoiceId,
      fromBlock,
      address: wanted.address,
      prepared,
      untilBlock: null,
      isCancelled: false,
    });
  }

  async #repeatUnanswered(): Promise<void> {
    const endsAtMs = performance.now() + HOUR_S * 1_000;
    while (this.#unanswered.length > 0 && performance.now() < endsAtMs) {
      this.#open += this.#unanswered.length;
      await Promise.all(this.#unanswered.splice(0).map((one) => this.#createOne(one)));
    }
  }

  #oldest(): ExpectedInvoice[] {
    return this.#invoices.filter(({ invoiceId }) => !this.#expired.has(invoiceId)).slice(0, EXPIRED_AT_ONCE);
  }

  /** An expiry by the time of the network, of which the API would take none so soon. */
  async #expire(invoices: readonly ExpectedInvoice[], blocks: number): Promise<void> {
    if (invoices.length === 0) return;
    const dateExpires = Math.floor(GENESIS_S + (this.network.chain.head + blocks) * BLOCK_TIME_S);
    const ids = invoices.map(({ invoiceId }) => `'${invoiceId}'`).join(', ');
    await this.site.write(`update invoices set expires_at = ${dateExpires} where id in (${ids})`);
    for (const { invoiceId } of invoices) this.#expired.add(invoiceId);
  }

  async #pay(): Promise<void> {
    const { site, network } = this;
    const payments = this.#invoices.slice(-2 * PAID_AT_ONCE).flatMap(({ address }): ModelTransaction[] => {
      if (Math.random() < 0.5) return [];
      const base = PARTS[randomUpTo(PARTS.length) - 1] ?? AMOUNT;
      const transaction = network.transfer(address, base);
      this.#paid.set(transaction.hash, { address, base: BigInt(base) });
      site.setAside.add(keyOf(network.networkId, transaction.hash));
      return [transaction];
    });
    network.chain.mine(payments);
  }

  async #afterReading(): Promise<void> {
    const nodes = this.site.nodesOf(this.network);
    const reads = () => nodes.reduce((sum, node) => sum + node.reads, 0);
    const before = reads() + randomUpTo(MOST_READS);
    await waitUntil('the network is read', () => reads() >= before);
    await Bun.sleep(randomUpTo(WRITES_WITHIN_MS));
  }

  async #finish(): Promise<Finding> {
    const { site, network } = this;
    const killedAtMs = performance.now();
    await this.#start();
    await this.#repeatUnanswered();
    await this.#expire(
      this.#invoices.filter(({ invoiceId }) => !this.#expired.has(invoiceId)),
      1,
    );
    await site.probe(network, killedAtMs);
    const isDecided = async () =>
      (await withStore(site.url, (db) =>
        countRows(db, 'select count(*) as count from invoices where passed_block is null'),
      )) === 0;
    await waitUntil('every invoice has expired', isDecided);
    await site.settle();
    this.options.progress(
      `${this.#invoices.length} invoices, ${this.#paid.size} payments, ${this.#open} repeated requests`,
    );
    site.violations.push(...(await this.#judge()), ...(await this.#ownEvents()));
    return await site.finding();
  }

  #judge(): Promise<string[]> {
    const { site, network } = this;
    const { networkId, chain } = network;
    return withStore(site.url, (db) =>
      new InvoiceJudge({
        ...{ db, entityId: site.instances.credentials.entityId, networkId, chain },
        ...{ invoices: this.#invoices, paid: this.#paid, finalities: FINALITIES },
      }).mistakes(),
    );
  }

  /**
   * Each request made one invoice, and each event of an invoice one delivery, which arrived. A payment in full ends a `LatePayment` that
   * still waits.
   */
  async #ownEvents(): Promise<string[]> {
    const { site } = this;
    const stored = await withStore(site.url, (db) =>
      db.all<{ id: string; reference: string; late_block: unknown }>('select id, reference, late_block from invoices'),
    );
    const deliveries = Map.groupBy(
      site.ledger.requests.filter(({ path }) => path === HOOK),
      ({ eventId }) => eventId,
    );
    const superseded = await withStore(site.url, supersededEvents);
    const wrong = stored.length === this.#count ? [] : [`${stored.length} invoices for ${this.#count} requests`];
    for (const { id, late_block } of stored) {
      for (const event of OWN_EVENTS) {
        const due = event === 'LatePayment' && late_block === null ? 0 : 1;
        const made = new Set(deliveries.get(`${id}_${event}`)?.map(({ deliveryId }) => deliveryId)).size;
        const isSuperseded = made === 0 && superseded.has(`${id}_${event}`);
        if (made !== due && !isSuperseded) wrong.push(`${id} has ${made} deliveries of ${event} instead of ${due}`);
      }
    }
    return wrong;
  }
}

/** Of an id, before the round and the number of the queue. */
const EVENT_DIGITS = 22;

/** The ids of the events whose delivery ended because a later event made it pointless. */
async function supersededEvents(db: Database): Promise<ReadonlySet<string>> {
  const { hexOf } = db.dialect;
  const rows = await db.all<{ id: SqlUuid }>(
    `select id from deliveries where status = ${STATUS_CODES.superseded} and attempts = 0`,
  );
  const numbers = new Set(rows.map(({ id }) => hexOf(id).slice(0, EVENT_DIGITS)));
  const events = await db.all<{ no: SqlUuid; event_id: string }>(
    `select no, event_id from events where event = 'LatePayment'`,
  );
  return new Set(events.flatMap(({ no, event_id }) => (numbers.has(hexOf(no).slice(0, EVENT_DIGITS)) ? event_id : [])));
}
