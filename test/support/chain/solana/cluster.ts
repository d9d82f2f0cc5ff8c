import { encodeBase58 } from '../../../../src/domain/chain/families/base58.ts';
import { type Random, seededRandom } from '../../random.ts';

/**
 * A model of Solana: a chain of confirmed blocks that forks, with skipped slots. Its transactions change the balances of
 * accounts, and every execution on another branch may have another result. All of it follows from the seed.
 */

export type Account = {
  readonly key: string;
  readonly owner: string;
  /** The mint; null for SOL. */
  readonly mint: string | null;
};

/** Balances by account, as one execution reads and changes them. */
export type Ledger = {
  readonly balanceOf: (account: Account) => bigint;
  readonly add: (account: Account, amount: bigint) => void;
};

/** Returns false if the transaction fails. Only its fee is paid then. */
export type Program = (ledger: Ledger) => boolean;

export type ModelTransaction = {
  readonly signature: string;
  /** Pays the fee. */
  readonly signer: Account;
  readonly accounts: readonly Account[];
  readonly run: Program;
};

export type Executed = { readonly transaction: ModelTransaction; readonly shown: Shown };
type Shown = Readonly<Record<string, unknown>> & {
  readonly meta: Readonly<Record<string, unknown>> & { readonly err: unknown };
};

export type Block = {
  readonly slot: number;
  readonly hash: string;
  readonly executed: readonly Executed[];
  readonly balances: ReadonlyMap<string, bigint>;
};

const FEE = 5_000n;
const FINAL_SLOTS = 32;
const FIRST_SLOT = 1_000;
const SKIPPED_PERCENT = 8;
const SIGNATURE_BYTES = 64;

export type Found = { readonly block: Block; readonly place: number; readonly executed: Executed };
export type Imagined = Found & { readonly balances: ReadonlyMap<string, bigint> };

export class Cluster {
  readonly random: Random;
  readonly blocks: Block[];
  /** The place of the newest finalized block. */
  finalized = 0;
  forks = 0;
  /** By signature, on the branch that stands. */
  readonly #bySignature = new Map<string, Found>();
  /** By account, oldest first. */
  readonly #byAccount = new Map<string, Found[]>();
  readonly #limbo: { readonly transaction: ModelTransaction; readonly since: number }[] = [];
  #hashes = 0;
  #texts = 0;

  constructor(
    private readonly seed: number,
    private readonly next: ((cluster: Cluster) => ModelTransaction) | null = null,
    balances: ReadonlyMap<string, bigint> = new Map(),
  ) {
    this.random = seededRandom(seed);
    this.blocks = [{ slot: FIRST_SLOT, hash: this.#newHash(), executed: [], balances }];
  }

  get tip(): Block {
    return this.blocks.at(-1) as Block;
  }

  /** A text of so many bytes in base58. */
  text(bytes: number): string {
    const digest = new Uint8Array(32);
    Bun.SHA256.hash(`${this.seed} text ${++this.#texts}`, digest);
    return encodeBase58(bytes === 32 ? digest : Buffer.concat([digest, digest]));
  }

  transaction(signer: Account, accounts: readonly Account[], run: Program): ModelTransaction {
    return { signature: this.text(SIGNATURE_BYTES), signer, accounts, run };
  }

  find(signature: string): Found | null {
    return this.#bySignature.get(signature) ?? null;
  }

  /** Oldest first. */
  listOf(account: string): readonly Found[] {
    return this.#byAccount.get(account) ?? [];
  }

  /** A block with these transactions; skips slots before it by chance. */
  add(transactions: readonly ModelTransaction[], slot = this.#nextSlot()): Block {
    const balances = new Map(this.tip.balances);
    const executed = transactions.map((transaction) => ({ transaction, shown: execute(transaction, slot, balances) }));
    const block = { slot, hash: this.#newHash(), executed, balances };
    this.blocks.push(block);
    for (const one of executed) {
      const found = { block, place: this.blocks.length - 1, executed: one };
      this.#bySignature.set(one.transaction.signature, found);
      for (const { key } of new Set(keysOf(one.transaction))) {
        const list = this.#byAccount.get(key) ?? [];
        this.#byAccount.set(key, list);
        list.push(found);
      }
    }
    while ((this.blocks[this.finalized + 1]?.slot ?? slot) <= slot - FINAL_SLOTS) this.finalized++;
    return block;
  }

  /** A block with some new transactions, and with some that a fork has delayed. */
  grow(): void {
    const transactions: ModelTransaction[] = [];
    for (let count = this.random.below(3); count > 0 && this.next !== null; count--) transactions.push(this.next(this));
    this.add([...transactions, ...this.#delayed()]);
  }

  /** A block with some of the transactions that a fork has delayed, and no new ones. */
  catchUp(): void {
    this.add(this.#delayed());
  }

  #delayed(): ModelTransaction[] {
    const transactions: ModelTransaction[] = [];
    while (this.#limbo.length > 0 && this.random.below(2) === 0) {
      const late = this.#limbo.shift();
      // Its blockhash can no longer be used.
      if (late !== undefined && this.tip.slot - late.since < 140) transactions.push(late.transaction);
    }
    return transactions;
  }

  /** Replaces confirmed blocks. Some of their transactions are dropped, and some come later. */
  fork(most = 20): void {
    const depth = Math.min(1 + this.random.below(most), this.blocks.length - 1 - this.finalized);
    if (depth === 0) return;
    this.forks++;
    const before = this.tip.slot;
    const gone = this.#cut(depth);
    const pool = gone.flatMap(({ executed }) => executed.map(({ transaction }) => transaction));
    while (this.tip.slot <= before) {
      const transactions: ModelTransaction[] = [];
      while (pool.length > 0 && this.random.below(10) < 7) {
        const transaction = pool.shift();
        const fate = this.random.below(100);
        if (transaction === undefined || fate < 12) continue;
        if (fate < 25) this.#limbo.push({ transaction, since: before });
        else transactions.push(transaction);
      }
      this.add(transactions);
    }
    for (const transaction of pool) this.#limbo.push({ transaction, since: before });
  }

  /** Replaces the newest blocks by one empty block above them: their transactions are gone. */
  drop(depth: number): void {
    const { slot } = this.tip;
    this.#cut(depth);
    this.add([], slot + 1);
  }

  /** Replaces the newest block by another one in the same slot. */
  replace(transactions: readonly ModelTransaction[]): void {
    const { slot } = this.tip;
    this.#cut(1);
    this.add(transactions, slot);
  }

  /** Replaces the newest blocks by these. The last of them is above all slots of the blocks that are gone. */
  branch(depth: number, blocks: readonly (readonly ModelTransaction[])[]): void {
    const { slot } = this.tip;
    this.forks++;
    this.#cut(depth);
    for (const transactions of blocks.slice(0, -1)) this.add(transactions);
    this.add(blocks.at(-1) ?? [], Math.max(slot, this.tip.slot) + 1);
  }

  /** A transaction in the newest block as a node shows it that has made it up, and the balances after it. */
  imagine(transaction: ModelTransaction): Imagined {
    const block = this.tip;
    const balances = new Map(block.balances);
    const executed = { transaction, shown: execute(transaction, block.slot, balances) };
    return { block, place: this.blocks.length - 1, executed, balances };
  }

  /** No delayed transaction comes any more. */
  settle(): void {
    this.#limbo.length = 0;
  }

  #cut(depth: number): Block[] {
    const gone = this.blocks.splice(this.blocks.length - depth);
    for (const { executed } of gone.toReversed())
      for (const one of executed.toReversed()) this.#remove(one.transaction);
    return gone;
  }

  #remove(transaction: ModelTransaction): void {
    this.#bySignature.delete(transaction.signature);
    for (const { key } of new Set(keysOf(transaction))) this.#byAccount.get(key)?.pop();
  }

  #nextSlot(): number {
    let slot = this.tip.slot + 1;
    while (this.random.below(100) < SKIPPED_PERCENT) slot++;
    return slot;
  }

  #newHash(): string {
    const digest = new Uint8Array(32);
    Bun.SHA256.hash(`${this.seed} hash ${++this.#hashes}`, digest);
    return encodeBase58(digest);
  }
}

function keysOf({ signer, accounts }: ModelTransaction): Account[] {
  return [...new Map([signer, ...accounts].map((account) => [account.key, account])).values()];
}

/** Runs a transaction on balances, and shows it as a node does. */
function execute(transaction: ModelTransaction, slot: number, balances: Map<string, bigint>): Shown {
  const { signature, signer, run } = transaction;
  const keys = keysOf(transaction);
  const before = new Map(balances);
  const of = ({ key }: Account) => balances.get(key) ?? 0n;
  const ledger: Ledger = { balanceOf: of, add: (account, amount) => balances.set(account.key, of(account) + amount) };
  balances.set(signer.key, of(signer) - FEE);
  const paid = new Map(balances);
  const isGood = run(ledger) && keys.every((account) => of(account) >= (account.mint === null ? -RESERVE : 0n));
  if (!isGood) {
    balances.clear();
    for (const [key, amount] of paid) balances.set(key, amount);
  }
  const lamports = (at: ReadonlyMap<string, bigint>) =>
    keys.map(({ key, mint }) => (mint === null ? Number((at.get(key) ?? 0n) + RESERVE) : 2_039_280));
  const tokens = (at: ReadonlyMap<string, bigint>) =>
    keys.flatMap(({ key, owner, mint }, accountIndex) => {
      const amount = String(at.get(key) ?? 0n);
      return mint === null ? [] : [{ accountIndex, mint, owner, uiTokenAmount: { amount, decimals: 6 } }];
    });
  return {
    slot,
    blockTime: 1_763_000_000 + Math.floor(slot * 0.4),
    meta: {
      err: isGood ? null : { InstructionError: [0, 'Custom'] },
      fee: Number(FEE),
      ...{ preBalances: lamports(before), postBalances: lamports(balances) },
      ...{ preTokenBalances: tokens(before), postTokenBalances: tokens(balances) },
    },
    transaction: {
      signatures: [signature],
      message: { accountKeys: keys.map(({ key }) => key), header: { numRequiredSignatures: 1 }, instructions: [] },
    },
  };
}

/** Every wallet begins with this many lamports, so that it can pay fees. */
export const RESERVE = 10n ** 12n;
