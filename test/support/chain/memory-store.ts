import type {
  Evidence,
  FactChange,
  FactKey,
  FactState,
  FoundFact,
  Position,
  RetractionReason,
  StoredFact,
} from '../../../src/domain/chain/facts.ts';
import { NO_VOTES } from '../../../src/domain/chain/witnesses.ts';
import {
  type AccountProgress,
  type FollowedSource,
  type FollowerStore,
  type Lease,
  MAX_ANCHORS,
  MAX_STEP_CHANGES,
  type NetworkState,
  type SourceKey,
  type Step,
} from '../../../src/store/chain/network-store.ts';
import { NOTHING_LEARNED } from './steps.ts';

/** What the store of a follower has to do, without a database. It throws at a transition that the table of facts does not have. */

type Fact = { -readonly [Name in keyof StoredFact]: StoredFact[Name] };

const LEGAL: Readonly<Record<Exclude<FactChange['change'], 'seen'>, readonly FactState[]>> = {
  moved: ['waiting', 'seen', 'lost'],
  lost: ['seen', 'final'],
  retracted: ['waiting', 'lost'],
  again: ['retracted'],
  judged: ['seen'],
};

export class MemoryStore implements FollowerStore {
  readonly facts = new Map<string, Fact>();
  readonly steps: Step[] = [];
  readonly paused: SourceKey[] = [];
  sources: FollowedSource[];
  startBlock: number | null;
  token = 1;
  /** Called with each fact that is retracted and the tip of the step. */
  onRetraction: (fact: StoredFact, tip: number, reason: RetractionReason) => void = () => {};
  /** Called before each step. If it throws, the step is not written. */
  onCommit: (step: Step) => void = () => {};
  state: NetworkState = {
    tip: null,
    anchors: [],
    head: null,
    safe: null,
    final: null,
    rangeBlocks: null,
    blockTimeMs: null,
    haltedAtMs: null,
    haltedReason: null,
    headS: null,
    headChangedAtMs: null,
    learnedDepth: NOTHING_LEARNED,
    finalLagMs: null,
  };
  readonly counts = { seen: 0, moved: 0, lost: 0, retracted: 0, again: 0, judged: 0 };
  /** The database's time. */
  nowMs: () => number = () => 0;
  /** Facts by position, because every poll asks for those of a few blocks. */
  readonly #byBlock = new Map<number, Set<Fact>>();
  readonly #lost = new Set<Fact>();
  readonly #open = new Set<Fact>();
  readonly #unconfirmed = new Set<Fact>();
  readonly #held: Fact[] = [];
  readonly #byId = new Map<string, Fact[]>();

  constructor({ sources = [], startBlock = 1 }: { sources?: FollowedSource[]; startBlock?: number | null } = {}) {
    this.sources = sources;
    this.startBlock = startBlock;
  }

  async lease(networkId: number): Promise<Lease> {
    const { token, state, startBlock } = this;
    const isPaused = (source: SourceKey) => this.paused.some(({ sourceId }) => sourceId === source.sourceId);
    const isAsked = (fact: Fact) => fact.state === 'waiting' || (fact.state === 'retracted' && fact.position !== null);
    const held = this.#held.filter(isAsked).slice(0, 50);
    return {
      networkId,
      token,
      state,
      sources: this.sources.filter((source) => !isPaused(source)),
      startBlock,
      lost: [...this.#lost].slice(0, 1_000).map((fact) => ({ ...fact })),
      held: held.map((fact) => ({ ...fact })),
      nodes: this.steps.at(-1)?.nodes ?? [],
      unconfirmed: [...this.#unconfirmed].slice(0, 100).map((fact) => ({ ...fact })),
      areBalancesDue: false,
      isWaiting: this.#open.size > 0 || this.#lost.size > 0 || held.length > 0,
      nowMs: this.nowMs(),
    };
  }

  async factsIn(_: number, from: number, to: number): Promise<StoredFact[]> {
    const found: StoredFact[] = [];
    const last = Math.min(to, Math.max(0, ...(to > from + 1_000 ? this.#byBlock.keys() : [to])));
    for (let number = from; number <= last; number++) {
      for (const fact of this.#byBlock.get(number) ?? []) {
        if (fact.state === 'seen' || fact.state === 'final') found.push({ ...fact });
      }
    }
    return found;
  }

  async factsOf(keys: readonly FactKey[]): Promise<StoredFact[]> {
    return keys.flatMap(({ entityId, factId }) =>
      (this.#byId.get(factId) ?? []).filter((fact) => fact.entityId === entityId).map((fact) => ({ ...fact })),
    );
  }

  async accounts(): Promise<AccountProgress[]> {
    return [];
  }

  async commit(lease: Lease, step: Step): Promise<boolean> {
    if (lease.token !== this.token) return false;
    this.onCommit(step);
    this.#check(step);
    for (const change of step.changes) this.#apply(change, step.tip?.number ?? 0);
    const { tip, anchors, head, safe, final, rangeBlocks, blockTimeMs, headS, learnedDepth, finalLagMs } = step;
    const before = this.state.final ?? -1;
    const isNewHead = head !== this.state.head || headS !== this.state.headS;
    const headChangedAtMs = isNewHead ? this.nowMs() : this.state.headChangedAtMs;
    const learned = { headS, headChangedAtMs, learnedDepth, finalLagMs };
    this.state = { ...this.state, tip, anchors, head, safe, final, rangeBlocks, blockTimeMs, ...learned };
    for (let number = before + 1; number <= (final ?? -1); number++) {
      for (const fact of this.#byBlock.get(number) ?? []) {
        if (fact.state === 'seen' && !this.#unconfirmed.has(fact) && !fact.isDisputed) this.#become(fact, 'final');
        else if (fact.state === 'seen') this.#unconfirmed.add(fact);
      }
    }
    for (const { entityId, sourceId, nextBlock, lastBlock } of step.backfilled) {
      const isIt = (source: FollowedSource) => source.sourceId === sourceId && source.entityId === entityId;
      this.sources = this.sources.map((source) => (isIt(source) ? { ...source, nextBlock, lastBlock } : source));
    }
    this.steps.push(step);
    return true;
  }

  async halt(_: Lease, haltedReason: string): Promise<void> {
    this.state = { ...this.state, haltedAtMs: 1, haltedReason };
  }

  async queueAlerts(): Promise<void> {}

  async dueBalances() {
    return [];
  }

  async noteBalances(): Promise<void> {}

  async pauseSources(lease: Lease, sources: readonly SourceKey[]): Promise<boolean> {
    if (lease.token !== this.token) return false;
    this.paused.push(...sources);
    return true;
  }

  /** An event that waits for a transaction. */
  hold(factId: string, transactionHash: string, entityId = 'acme'): void {
    const fact: Fact = { ...fresh(entityId, factId, transactionHash), isHeld: true };
    this.#held.push(fact);
    this.#insert(fact);
  }

  fact(factId: string): StoredFact {
    const [fact] = this.#byId.get(factId) ?? [];
    if (fact === undefined) throw new Error(`There is no fact ${factId}`);
    return fact;
  }

  #check({ changes, tip, anchors, safe, final }: Step): void {
    if (changes.length > MAX_STEP_CHANGES) throw new Error(`A step has ${changes.length} changes`);
    if (anchors.length > MAX_ANCHORS) throw new Error(`A step has ${anchors.length} anchors`);
    if (tip !== null && anchors[0]?.number !== tip.number) throw new Error('The tip is not the newest anchor');
    if (final !== null && final > (tip?.number ?? -1)) throw new Error('Finality is above the tip');
    if (safe !== null && safe < (this.state.safe ?? safe)) throw new Error('The safe level fell');
    if ((final ?? -1) < (this.state.final ?? -1)) throw new Error('The final level fell');
    const isSorted = anchors.every((anchor, at) => at === 0 || anchor.number < (anchors[at - 1]?.number ?? 0));
    if (!isSorted) throw new Error('The anchors are not sorted');
  }

  #apply(change: FactChange, tip: number): void {
    this.counts[change.change]++;
    if (change.change === 'seen') {
      this.#see(change.fact, change.evidence);
      return;
    }
    const fact = this.facts.get(keyOf(change));
    if (fact === undefined) throw new Error(`${change.change} of an unknown fact`);
    const isDenied = change.change === 'retracted' && change.reason === 'not_on_chain';
    const legal = isDenied ? ['seen', 'lost'] : LEGAL[change.change];
    if (!legal.includes(fact.state)) throw new Error(`${fact.state} → ${change.change} is not legal`);
    switch (change.change) {
      case 'lost':
        if ((fact.position?.blockNumber ?? 0) <= (this.state.final ?? -1)) throw new Error('Lost below finality');
        this.#become(fact, 'lost');
        fact.lostAtHead = change.lostAtHead;
        fact.isDisputed = false;
        this.#lost.add(fact);
        return;
      case 'retracted':
        this.onRetraction(fact, tip, change.reason ?? 'reorg');
        fact.votes = change.votes ?? fact.votes;
        fact.isDisputed = false;
        this.#become(fact, 'retracted');
        this.#lost.delete(fact);
        return;
      case 'again':
        fact.revision++;
        this.#place(fact, change.position, change.evidence);
        return;
      case 'moved':
        this.#place(fact, change.position, change.evidence);
        return;
      case 'judged':
        if (fact.position !== null) this.#place(fact, fact.position, change.evidence);
        return;
    }
  }

  #become(fact: Fact, state: FactState): void {
    fact.state = state;
    if (state === 'seen') this.#open.add(fact);
    else this.#open.delete(fact);
    if (state !== 'seen') this.#unconfirmed.delete(fact);
  }

  #see({ entityId, factId, transactionHash, sourceId, position }: FoundFact, evidence: Evidence | undefined): void {
    if (this.facts.has(`${entityId} ${factId}`)) throw new Error(`${factId} was seen before`);
    const fact: Fact = { ...fresh(entityId, factId, transactionHash), sourceId, state: 'seen' };
    this.#insert(fact);
    this.#place(fact, position, evidence);
  }

  #insert(fact: Fact): void {
    this.facts.set(keyOf(fact), fact);
    this.#byId.set(fact.factId, [...(this.#byId.get(fact.factId) ?? []), fact]);
  }

  /** Below finality, a fact is final only if enough nodes have shown it. */
  #place(fact: Fact, position: Position, evidence: Evidence | undefined): void {
    this.#byBlock.get(fact.position?.blockNumber ?? -1)?.delete(fact);
    fact.position = position;
    fact.votes = evidence?.votes ?? NO_VOTES;
    fact.isDisputed = evidence?.standing === 'disputed';
    const isBelow = position.blockNumber <= (this.state.final ?? -1);
    this.#become(fact, isBelow && evidence?.standing === 'confirmed' ? 'final' : 'seen');
    if (isBelow && fact.state === 'seen') this.#unconfirmed.add(fact);
    else this.#unconfirmed.delete(fact);
    fact.lostAtHead = null;
    this.#lost.delete(fact);
    const block = this.#byBlock.get(position.blockNumber) ?? new Set();
    this.#byBlock.set(position.blockNumber, block.add(fact));
  }
}

function fresh(entityId: string, factId: string, transactionHash: string): Fact {
  return {
    entityId,
    factId,
    sourceId: null,
    state: 'waiting',
    revision: 1,
    transactionHash,
    position: null,
    lostAtHead: null,
    isHeld: false,
    votes: NO_VOTES,
    isDisputed: false,
  };
}

function keyOf({ entityId, factId }: FactKey): string {
  return `${entityId} ${factId}`;
}
