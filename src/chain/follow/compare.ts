import type { FactChange, FactKey, FoundFact, Position, StoredFact } from '../../domain/chain/facts.ts';

/**
 * Compares the facts in the blocks that were read with the stored facts.
 *
 * | the store has it | the blocks have it | the change                                                              |
 * |------------------|--------------------|-------------------------------------------------------------------------|
 * | no               | yes                | `seen`                                                                  |
 * | seen, lost       | in another block   | `moved`                                                                 |
 * | retracted        | yes                | `again`, unless most nodes deny that this block has it                  |
 * | seen             | no                 | `lost` if its block is gone; otherwise the node left it out, and it stands |
 *
 * Nothing at or below finality changes, with one exception. The source of a payment may have been paused while another
 * source stored the payment without an event. When the first source reads the block, its fact replaces that one.
 */
export type Comparison = {
  readonly found: readonly FoundFact[];
  /** All stored facts in the blocks that were read, both seen and final. */
  readonly stored: readonly StoredFact[];
  /** Stored facts in any state and in any block, at least those with the ids of `found`. */
  readonly known: readonly StoredFact[];
  readonly isGone: (position: Position) => boolean;
  readonly head: number;
  readonly final: number | null;
  /** Whether the reading asked for the logs of this fact. */
  readonly isFollowed: (fact: StoredFact) => boolean;
  /** Whether the fact's source still has to read the block. */
  readonly isUnread?: (fact: FoundFact) => boolean;
};

export type Differences = {
  readonly changes: readonly FactChange[];
  /** Facts that the node left out although their block is still in the chain. */
  readonly omissions: number;
  /** The oldest replaced block; null if no block was replaced. */
  readonly replacedFrom: number | null;
};

export function compareFacts(comparison: Comparison): Differences {
  const { found, stored, known, head } = comparison;
  const byKey = new Map([...known, ...stored].map((fact) => [keyOf(fact), fact]));
  const changes: FactChange[] = [];
  const replaced: number[] = [];
  for (const fact of found) {
    const before = byKey.size === 0 ? undefined : byKey.get(keyOf(fact));
    if (isKeptSilent(before, fact) && comparison.isUnread?.(fact) === true) {
      changes.push({ change: 'seen', fact, replacesSilent: true });
      continue;
    }
    if (before !== undefined && (isFixed(before, comparison) || isDenied(before, fact))) continue;
    const made = changesOf(fact, before, head);
    changes.push(...made);
    if (made.length > 0 && before?.position && before.position.blockHash !== fact.position.blockHash) {
      if (before.state === 'seen' || before.state === 'final') replaced.push(before.position.blockNumber);
    }
  }
  let omissions = 0;
  for (const fact of missingFacts(found, stored)) {
    if (fact.position === null || isFixed(fact, comparison)) continue;
    if (comparison.isGone(fact.position)) {
      changes.push(lostFrom(fact, head));
      replaced.push(fact.position.blockNumber);
    } else if (!fact.isHeld && !fact.isDisputed && comparison.isFollowed(fact)) omissions++;
  }
  return { changes: inOrder(changes), omissions, replacedFrom: replaced.length === 0 ? null : lowest(replaced) };
}

/** Whether the stored fact is of another source and has no event, so that the found fact replaces it. */
function isKeptSilent(before: StoredFact | undefined, { sourceId, isSilent, position }: FoundFact): boolean {
  if (before?.isSilent !== true || isSilent || before.sourceId === sourceId) return false;
  const stands = before.state === 'seen' || before.state === 'final';
  return stands && before.position?.blockHash === position.blockHash;
}

function isFixed({ state, position }: StoredFact, { final }: Comparison): boolean {
  if (position === null || final === null || position.blockNumber > final) return false;
  return state === 'seen' || state === 'final';
}

/**
 * Whether most nodes have denied that this block has the fact. That a node shows the fact again does not change this.
 */
function isDenied({ state, position, votes }: StoredFact, found: FoundFact): boolean {
  return (
    state === 'retracted' && position?.blockHash === found.position.blockHash && votes.no.length > votes.yes.length
  );
}

function lowest(numbers: readonly number[]): number {
  return numbers.reduce((least, number) => Math.min(least, number));
}

/** Stored facts that are not among the found ones. */
export function missingFacts(found: readonly FoundFact[], stored: readonly StoredFact[]): StoredFact[] {
  if (stored.length === 0) return [];
  const keys = new Set(found.map(keyOf));
  return stored.filter((fact) => !keys.has(keyOf(fact)));
}

function changesOf(fact: FoundFact, before: StoredFact | undefined, head: number): FactChange[] {
  const { entityId, factId, position } = fact;
  if (before === undefined) return [{ change: 'seen', fact }];
  if (before.state === 'retracted') return [{ change: 'again', entityId, factId, position }];
  const moved: FactChange = { change: 'moved', entityId, factId, position };
  if (before.state === 'lost' || before.position === null) return [moved];
  if (before.position.blockHash === position.blockHash) {
    // A transaction may have equal logs. If a node left out the first one, the second one was stored in its place.
    return position.logIndex < before.position.logIndex && before.state === 'seen' ? [moved] : [];
  }
  // A final fact is above finality only after the operator has resumed a network from an older block.
  return before.state === 'final' ? [lostFrom(before, head), moved] : [moved];
}

function lostFrom({ entityId, factId }: FactKey, head: number): FactChange {
  return { change: 'lost', entityId, factId, lostAtHead: head };
}

export function keyOf({ entityId, factId }: FactKey): string {
  return `${entityId} ${factId}`;
}

/** The position of a change; null for a change that takes a fact away. */
export function positionOf(change: FactChange): Position | null {
  if (change.change === 'seen') return change.fact.position;
  return 'position' in change ? change.position : null;
}

/** Puts lost facts first, and then the found facts in the order of the chain. */
export function inOrder(changes: readonly FactChange[]): readonly FactChange[] {
  if (isInOrder(changes)) return changes;
  const placed = changes.flatMap((change) => {
    const position = positionOf(change);
    return position === null ? [] : [{ change, position }];
  });
  placed.sort((a, b) => a.position.blockNumber - b.position.blockNumber || a.position.logIndex - b.position.logIndex);
  return [...changes.filter((change) => positionOf(change) === null), ...placed.map(({ change }) => change)];
}

/** Whether all changes have a place, each at or after the one before it. */
function isInOrder(changes: readonly FactChange[]): boolean {
  let before: Position | null = null;
  for (const change of changes) {
    const position = positionOf(change);
    if (position === null) return false;
    const blocks = position.blockNumber - (before?.blockNumber ?? 0);
    if (blocks < 0 || (blocks === 0 && position.logIndex < (before?.logIndex ?? 0))) return false;
    before = position;
  }
  return true;
}
