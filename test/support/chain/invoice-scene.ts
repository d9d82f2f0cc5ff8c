import { DomainError } from '../../../src/domain/errors.ts';
import { acceptFactEvents } from '../../../src/store/chain/fact-events.ts';
import { createInvoices } from '../../../src/store/chain/invoices/create.ts';
import { readInvoice } from '../../../src/store/chain/invoices/view.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { newEntity, register } from '../webhooks.ts';
import { definitionOf, presetLog, sourceOf } from './logs.ts';
import { addressOf, GENESIS_S, ModelChain, type ModelTransaction } from './model-chain.ts';
import { ModelNode } from './model-node.ts';
import { storeFollower } from './store-follower.ts';

/** A network in memory with invoices in a token of 6 decimals, for tests that write down each block. */

const PAYER = addressOf(9);
const UNIT = 1_000_000;
const POLL_MS = 2_000;
const BLOCK_S = 2;
const FINAL_DEPTH = 8;
const HOOK = 'https://hooks.example.com/';
const LIMITS = { invoices: 1_000, sources: 100, book: { ofEntity: 1_000, ofNetwork: 1_000 } };
let lastNetworkId = 21_000;

type Body = {
  readonly event: string;
  readonly finality?: string | number;
  readonly invoice: { readonly invoiceId: string; readonly state: string; readonly received: string };
};

export type SceneOptions = { readonly networkId?: number; readonly token?: string; readonly nodes?: number };

export async function newInvoiceScene(db: Database, options: SceneOptions = {}) {
  const { networkId = ++lastNetworkId, token = addressOf(77), nodes: nodeCount = 1 } = options;
  const entityId = await newEntity(db);
  for (const event of ['TransferCreated', 'TransferProcessed', 'LatePayment']) {
    await register(db, entityId, `${HOOK}shop`, [{ networkId, event }]);
  }
  const chain = new ModelChain(BLOCK_S);
  chain.mineEmpty(20);
  const faults = { chainId: networkId, finalized: FINAL_DEPTH, safe: FINAL_DEPTH };
  const models = Array.from({ length: nodeCount }, () => new ModelNode(chain, faults));
  let ms = 0;
  const exchanges = Object.fromEntries(models.map(({ exchange }, at) => [`model#${at + 1}`, exchange]));
  const follower = storeFollower(db, { networkId, exchanges, nowMs: () => ms, stepChanges: 100 });
  const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
  let addresses = 1_000;

  /** Polls, and accepts the events. Time passes on the clock, and not on the network. */
  const poll = async (polls = 3) => {
    for (let count = 0; count < polls; count++) {
      ms += POLL_MS;
      await follower.poll();
    }
    const accepting = { acceptQueue, isFull: async () => false, firstDelayMs: 0, onTask: () => undefined };
    while ((await acceptFactEvents(db, networkId, accepting)) > 0);
  };

  /** The time of the newest block. */
  const nowS = () => GENESIS_S + chain.head * BLOCK_S;

  /** Expires this many blocks after the newest one. */
  const create = async (amount: number, expiresIn: number) => {
    const address = addressOf(++addresses);
    const dateExpires = nowS() + expiresIn * BLOCK_S;
    const base = BigInt(amount * UNIT);
    const terms = {
      ...{ networkId, token, address, amount: String(amount), tolerancePercent: 0, watchDays: 7 },
      ...{ dateExpires, match: 'address' as const },
    };
    const { topic } = sourceOf({ preset: 'erc20', contract: token });
    const definition = { ...definitionOf({ networkId, preset: 'erc20', contract: token }), addressBook: 'to' };
    const results = await createInvoices(db, {
      ...{ entityId, networkId, head: chain.head, limits: LIMITS, nowS: dateExpires - 60 },
      invoices: [{ terms, token, address, shownToken: token, shownAddress: address, decimals: 6, base }],
      readings: new Map([[token, { definition, topic, topics: [null, null, null, null], bookPlace: 2 }]]),
    });
    const [result] = results ?? [];
    if (result === undefined || result instanceof DomainError) throw result;
    return { invoiceId: result.invoiceId, address, dateExpires };
  };

  const transfer = ({ address }: { readonly address: string }, amount: number): ModelTransaction =>
    chain.transaction({
      logs: [{ ...presetLog('erc20', [PAYER, address, BigInt(amount * UNIT)]), address: token }],
    });

  const eventsOf = async ({ invoiceId }: { readonly invoiceId: string }): Promise<Body[]> => {
    const rows = await db.all<{ body: string }>('select body from events order by no');
    return rows.map(({ body }) => JSON.parse(body) as Body).filter(({ invoice }) => invoice?.invoiceId === invoiceId);
  };

  await poll();
  return {
    ...{ networkId, entityId, chain, models, poll, create, transfer, eventsOf, nowS },
    /** One block after another, each with a poll. */
    followBlocks: async (count: number) => {
      for (let block = 0; block < count; block++) {
        chain.mine();
        await poll(1);
      }
    },
    /** The kinds of the events of an invoice, in the order of their acceptance. */
    kindsOf: async (invoice: { readonly invoiceId: string }) => (await eventsOf(invoice)).map(({ event }) => event),
    read: async ({ invoiceId }: { readonly invoiceId: string }) => {
      const invoice = await readInvoice(db, entityId, invoiceId);
      if (invoice === null) throw new Error('the invoice is gone');
      return invoice;
    },
  };
}
