import { RpcFailure } from '../../../../src/chain/rpc/failures.ts';
import type { Exchange } from '../../../../src/chain/rpc/http-exchange.ts';
import { decodeBase58 } from '../../../../src/domain/chain/families/base58.ts';
import { genesisOf } from '../../../../src/domain/chain/families/solana.ts';
import type { Random } from '../../random.ts';
import { type Account, type Block, type Cluster, type Found, type Imagined, RESERVE } from './cluster.ts';
import { MINT, TOKEN_PROGRAM } from './shops.ts';

/** A node of the model that lags, leaves transactions out, fails and calls too much finalized. */

export type Faults = {
  /** Blocks behind the tip. */
  lag: number;
  /** In percent: lists of which half is left out. A tenth of it are transactions and statuses that are not there. */
  thinned: number;
  /** In percent: signatures that are in none of its lists. */
  missing: number;
  /** In percent. */
  failing: number;
  /** In percent: answers that call the newest block finalized. */
  hasty: number;
  /** Whether transactions of one slot are listed by signature. */
  isBySignature: boolean;
  /** Lists that never end, with so many seconds between two transactions; null for none. */
  crowdS: number | null;
  /** The slot at which the node stands still; null for none. */
  frozenAt: number | null;
  /** Whether the node calls nothing finalized. */
  isSilent: boolean;
  /** A transaction that the node has made up. */
  invents: Imagined | null;
};

const NO_FAULTS: Faults = {
  ...{ lag: 0, thinned: 0, missing: 0, failing: 0, hasty: 0, isBySignature: false, crowdS: null },
  ...{ frozenAt: null, isSilent: false, invents: null },
};
const SYSTEM_PROGRAM = '11111111111111111111111111111111';
const FAILURES = [429, -32005, -32603] as const;

type Request = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
type Options = {
  readonly until?: string;
  readonly before?: string;
  readonly limit?: number;
  readonly minContextSlot?: number;
  readonly commitment?: string;
  readonly dataSlice?: { readonly offset: number; readonly length: number };
};

class RpcError extends Error {
  constructor(readonly code: number) {
    super(String(code));
  }
}

export class FakeNode {
  readonly faults: Faults;
  readonly calls = new Map<string, number>();
  isDown = false;
  genesis = genesisOf(900);

  constructor(
    private readonly cluster: Cluster,
    private readonly accounts: ReadonlyMap<string, Account>,
    private readonly random: Random,
    faults: Partial<Faults> = {},
  ) {
    this.faults = { ...NO_FAULTS, ...faults };
  }

  readonly exchange: Exchange = async (payload) => {
    if (this.isDown) throw new RpcFailure('unreachable');
    const answer = (request: Request) => {
      this.calls.set(request.method, (this.calls.get(request.method) ?? 0) + 1);
      try {
        if (this.#isHit(this.faults.failing)) throw new RpcError(FAILURES[this.random.below(3)] ?? 429);
        return { id: request.id, result: structuredClone(this.#answer(request)) };
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        return { id: request.id, error: { code: error.code, message: 'refused' } };
      }
    };
    return Array.isArray(payload) ? (payload as Request[]).map(answer) : answer(payload as Request);
  };

  #isHit(percent: number): boolean {
    return percent > 0 && this.random.below(1_000) < percent * 10;
  }

  heal(): void {
    Object.assign(this.faults, NO_FAULTS);
  }

  get #place(): number {
    const { blocks } = this.cluster;
    const { lag, frozenAt } = this.faults;
    const newest = frozenAt === null ? blocks.length - 1 : blocks.findLastIndex(({ slot }) => slot <= frozenAt);
    return Math.max(0, newest - lag);
  }

  get #view(): Block {
    return this.cluster.blocks[this.#place] as Block;
  }

  get #final(): Block {
    if (this.faults.isSilent) throw new RpcError(-32603);
    if (this.#isHit(this.faults.hasty)) return this.#view;
    return this.cluster.blocks[Math.min(this.cluster.finalized, this.#place)] as Block;
  }

  #answer({ method, params }: Request): unknown {
    const [first, second] = params;
    const options = (second ?? {}) as Options;
    if (options.minContextSlot !== undefined && this.#view.slot < options.minContextSlot) throw new RpcError(-32016);
    switch (method) {
      case 'getGenesisHash':
        return this.genesis;
      case 'getSlot':
        return ((first ?? {}) as Options).commitment === 'finalized' ? this.#final.slot : this.#view.slot;
      case 'getMultipleAccounts':
        return this.#balances(first as string[], options);
      case 'getSignatureStatuses':
        return { context: { slot: this.#view.slot }, value: (first as string[]).map((each) => this.#status(each)) };
      case 'getSignaturesForAddress':
        return this.#list(String(first), options);
      case 'getTransaction':
        return this.#find(String(first))?.executed.shown ?? null;
      case 'getBlock': {
        const block = this.cluster.blocks.findLast(({ slot }) => slot === first);
        if (block === undefined || block.slot > this.#view.slot) throw new RpcError(-32007);
        return { blockhash: block.hash, blockTime: 1_763_000_000 + Math.floor(block.slot * 0.4) };
      }
      case 'getFirstAvailableBlock':
        return 0;
      default:
        throw new RpcError(-32601);
    }
  }

  #balances(keys: readonly string[], { commitment, dataSlice }: Options): unknown {
    const block = commitment === 'finalized' ? this.#final : this.#view;
    const { offset = 0, length = Number.POSITIVE_INFINITY } = dataSlice ?? {};
    const value = keys.map((key) => {
      const shown = this.#account(key, (block.balances.get(key) ?? 0n) + this.#inventedFor(key, block.slot));
      if (shown === null) return null;
      const { bytes, ...account } = shown;
      return {
        ...account,
        space: bytes.length,
        data: [bytes.subarray(offset, offset + length).toString('base64'), 'base64'],
      };
    });
    return { context: { slot: block.slot }, value };
  }

  #account(key: string, amount: bigint) {
    if (key === MINT) return { owner: TOKEN_PROGRAM, lamports: 1_461_600, bytes: Buffer.alloc(82) };
    const account = this.accounts.get(key);
    if (account === undefined) return null;
    const isSol = account.mint === null;
    if (isSol) return { owner: SYSTEM_PROGRAM, lamports: Number(amount + RESERVE), bytes: Buffer.alloc(0) };
    const bytes = Buffer.alloc(165);
    bytes.set(decodeBase58(account.owner) ?? [], 32);
    bytes.writeBigUInt64LE(amount, 64);
    return { owner: TOKEN_PROGRAM, lamports: 2_039_280, bytes };
  }

  #inventedFor(key: string, slot: number): bigint {
    const { invents } = this.faults;
    if (invents === null || invents.block.slot > slot) return 0n;
    return (invents.balances.get(key) ?? 0n) - (invents.block.balances.get(key) ?? 0n);
  }

  /** Null if this node does not have it, or does not show it now. */
  #find(signature: string): Found | null {
    const { invents } = this.faults;
    if (invents?.executed.transaction.signature === signature) return invents;
    const found = this.cluster.find(signature);
    const isShown = found !== null && found.place <= this.#place && !this.#isHit(this.faults.thinned / 5);
    return isShown ? found : null;
  }

  #status(signature: string): unknown {
    const found = this.#find(signature);
    if (found === null) return null;
    const isFinal = !this.faults.isSilent && found.block.slot <= this.#final.slot;
    const confirmationStatus = isFinal ? 'finalized' : 'confirmed';
    return { slot: found.block.slot, err: found.executed.shown.meta.err, confirmationStatus };
  }

  #list(account: string, { until, before, limit = 1_000 }: Options): unknown {
    if (this.faults.crowdS !== null) return this.#crowd(before, limit, this.faults.crowdS);
    const all = [...this.cluster.listOf(account), ...this.#inventedOf(account)].filter(
      ({ place }) => place <= this.#place,
    );
    all.sort((a, b) => a.block.slot - b.block.slot);
    const isKnown = (signature: string) => all.some(({ executed }) => executed.transaction.signature === signature);
    if (until !== undefined && !isKnown(until)) throw new RpcError(-32020);
    const nameOf = ({ executed }: Found) => executed.transaction.signature;
    const newestFirst = all.toReversed();
    if (this.faults.isBySignature) {
      newestFirst.sort((a, b) => b.block.slot - a.block.slot || (nameOf(a) < nameOf(b) ? 1 : -1));
    }
    const start = before === undefined ? 0 : newestFirst.findIndex((found) => nameOf(found) === before) + 1;
    const end = until === undefined ? newestFirst.length : newestFirst.findIndex((found) => nameOf(found) === until);
    const listed = newestFirst
      .slice(start, end)
      .slice(0, limit)
      .filter((found) => !this.#isMissing(nameOf(found)));
    const kept = this.#isHit(this.faults.thinned) ? listed.filter(() => this.random.below(2) === 0) : listed;
    return kept.map((found) => ({
      signature: nameOf(found),
      slot: found.block.slot,
      err: found.executed.shown.meta.err,
      blockTime: found.executed.shown.blockTime,
    }));
  }

  #inventedOf(account: string): Found[] {
    const { invents } = this.faults;
    const names = invents?.executed.transaction.accounts.some(({ key }) => key === account);
    return invents !== null && names === true ? [invents] : [];
  }

  #crowd(before: string | undefined, limit: number, seconds: number): unknown {
    const start = Number(before ?? 0) + 1;
    return Array.from({ length: limit }, (_, index) => {
      const blockTime = 1_763_000_000 - (start + index) * seconds;
      return { signature: String(start + index), slot: this.#view.slot, err: null, blockTime };
    });
  }

  /** The same signatures every time. */
  #isMissing(signature: string): boolean {
    if (this.faults.missing === 0) return false;
    return Number(Bun.hash(`${signature} ${this.faults.lag} ${this.faults.hasty}`) % 100n) < this.faults.missing;
  }
}
