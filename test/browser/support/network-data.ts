import type { NewInvoice } from '../../../src/contract/chain/new-invoice.ts';
import { COIN_DECIMALS, NATIVE_TOKEN } from '../../../src/domain/chain/coin.ts';
import type { FactChange, FoundFact, Position } from '../../../src/domain/chain/facts.ts';
import { baseOf } from '../../../src/domain/chain/invoices/amounts.ts';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { acceptFactEvents } from '../../../src/store/chain/fact-events.ts';
import { createInvoices } from '../../../src/store/chain/invoices/create.ts';
import type { Lease, Step } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openSqlite } from '../../../src/store/database/sqlite/open.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { PLAIN_STEP } from '../../support/chain/steps.ts';
import type { Stage } from './stage.ts';

const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';

/** Writes what a network says into the store of the service, through the steps of a follower, without a node. */
export class NetworkWriter implements AsyncDisposable {
  private constructor(
    private readonly db: Database,
    private readonly networks: NetworkStore,
    private readonly entityId: string,
    readonly networkId: number,
  ) {}

  static async open({ databaseFile, credentials }: Stage, networkId: number): Promise<NetworkWriter> {
    const db = await openSqlite(databaseFile);
    const networks = new NetworkStore(db, 'browser-test', () => Promise.resolve([]));
    return new NetworkWriter(db, networks, credentials.entityId, networkId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.db.close();
  }

  async step(head: number, changes: readonly FactChange[] = [], more: Partial<Step> = {}): Promise<void> {
    const lease = await this.lease();
    await this.networks.commit(lease, { ...stepTo(lease, head), changes, ...more });
    const acceptQueue = new AcceptQueue(this.db, { onDue: () => undefined });
    const options = { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined };
    for (let round = 0; round < 50 && (await acceptFactEvents(this.db, this.networkId, options)) > 0; round++);
  }

  async halt(reason: string): Promise<void> {
    await this.networks.halt(await this.lease(), reason);
  }

  /** A source of the entity whose contract has too many logs. */
  async addPausedSource(reason: string): Promise<string> {
    const { entityId, networkId } = this;
    const definition: SourceDefinition = {
      ...{
        networkId,
        preset: 'loop',
        contract: `0x${'1'.repeat(40)}`,
        abi: null,
        event: null,
        where: { token: [`0x${'2'.repeat(40)}`] },
        fields: {},
      },
      ...{ fromBlock: 'latest', deliverHistory: false },
    };
    const prepared = { definition, topic: '0x11', topics: [], head: 100 };
    const { source } = await createSource(this.db, entityId, prepared, 1, TEST_CHANGE);
    await this.networks.pauseSources(await this.lease(), [{ entityId, sourceId: source.sourceId }], reason);
    return source.sourceId;
  }

  /** An invoice of USDC, or of the coin, whose payments count from the next block on. Returns its id. */
  async addInvoice(terms: Partial<NewInvoice> & { address: string; amount: string }, isCoin = false): Promise<string> {
    const { entityId, networkId } = this;
    const token = isCoin ? NATIVE_TOKEN : USDC;
    const decimals = isCoin ? COIN_DECIMALS : 6;
    const preset = isCoin ? 'native' : 'erc20';
    const whole: NewInvoice = {
      ...{ networkId, token, tolerancePercent: 0, match: 'address', watchDays: 7 },
      ...{ dateExpires: Math.floor(Date.now() / 1000) + 86_400, ...terms },
    };
    const prepared = {
      ...{ terms: whole, token, address: terms.address.toLowerCase(), shownToken: token, shownAddress: terms.address },
      ...{ decimals, base: baseOf(terms.amount, decimals) ?? 0n },
    };
    const definition: SourceDefinition = {
      ...{ networkId, preset, contract: token, abi: null, event: null, where: {}, fields: {} },
      ...{ fromBlock: 'latest', deliverHistory: false, addressBook: 'to' },
    };
    const reading = { definition, topic: '0x11', topics: [], bookPlace: 2 };
    const [created] =
      (await createInvoices(this.db, {
        ...{ entityId, networkId, invoices: [prepared], readings: new Map([[token, reading]]), head: 100 },
        ...{ limits: { invoices: 100, sources: 100, book: { ofEntity: 100, ofNetwork: 100 } } },
        nowS: Math.floor(Date.now() / 1000),
      })) ?? [];
    if (created === undefined || created instanceof Error) throw created ?? new Error('no invoice was made');
    return created.invoiceId;
  }

  /** As if a node had been asked for the balance of the address. */
  async noteUnexplained(invoiceId: string, base: string): Promise<void> {
    const sql = 'update invoices set unexplained = $2, checked_at_ms = $3 where id = $1';
    await this.db.transaction((queries) => queries.run(sql, [invoiceId, base, Date.now()]));
  }

  /** As if the last poll, which found the newest block, was this long ago. */
  async age(seconds: number): Promise<void> {
    const sql = `update chains set polled_at_ms = polled_at_ms - $2, head_s = (polled_at_ms - $2) / 1000 where network_id = $1`;
    await this.db.transaction((queries) => queries.run(sql, [this.networkId, seconds * 1000]));
  }

  /** A transfer; its letter makes it another one. */
  transfer(letter: string, position: Position): FoundFact {
    return {
      entityId: this.entityId,
      factId: `fct_${letter.repeat(26)}`,
      networkId: this.networkId,
      sourceId: 'src_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
      kind: 'Transfer',
      isSilent: false,
      transactionHash: `0x${letter.repeat(4)}04ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b2206`,
      contract: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
      position,
      transferId: null,
      agreementId: 'agr_7012',
      fields: { payer: '0x71c7656ec7ab88b098defb751b7401b5f6d8976f', amount: '25', amountBase: '25000000' },
    };
  }

  private async lease(): Promise<Lease> {
    const lease = await this.networks.lease(this.networkId);
    if (lease === null) throw new Error('another instance follows the network');
    return lease;
  }
}

/** A block on a branch: the same number on another branch is another block. */
export function inBlock(blockNumber: number, branch: string): Position {
  return { blockNumber, blockHash: `0x${branch}${String(blockNumber).padStart(63, '0')}`, logIndex: 12 };
}

function stepTo({ state: { safe, final } }: Lease, head: number): Step {
  const tip = { number: head, hash: inBlock(head, 'a').blockHash };
  return {
    ...{ tip, anchors: [tip], head, safe, final, rangeBlocks: 1_000, blockTimeMs: 2_000 },
    ...{ ...PLAIN_STEP, changes: [], backfilled: [], asked: [], nodes: [] },
  };
}
