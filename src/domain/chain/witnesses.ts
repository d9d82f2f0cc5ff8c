/**
 * The rules by which several nodes decide what is final. A node is a witness: its claim counts once, and a quorum of
 * claims decides. This file asks no node and reads no clock.
 */

/**
 * The least number of blocks between a claim and the head of its claimant. A smaller distance is not credible on that network.
 * `docs/networks.md` has the source of each value.
 */
const LEAST_DEPTHS: ReadonlyMap<number, number> = new Map([
  [1, 32],
  [100, 16],
  [10, 60],
  [8453, 60],
  [42220, 60],
  [42161, 240],
  [56, 1],
  [137, 1],
  [43114, 0],
  [728126428, 18],
]);
const UNKNOWN_NETWORK_DEPTH = 1;

export function leastDepthOf(networkId: number): number {
  return LEAST_DEPTHS.get(networkId) ?? UNKNOWN_NETWORK_DEPTH;
}

/**
 * The block of a claim. Null if the node made no claim, or if the claim is nearer to the node's head than the network
 * allows.
 */
export function credibleClaim(claimed: number | null, head: number, leastDepth: number): number | null {
  return claimed !== null && head - claimed >= leastDepth ? claimed : null;
}

/** The nodes that must agree. A fixed quorum stays, even if fewer nodes are present. */
export function quorumOf(present: number, fixed: number | null): number {
  return fixed ?? Math.floor(Math.max(present, 1) / 2) + 1;
}

/**
 * The highest block that a quorum of claims reaches. It tolerates quorum − 1 nodes that claim too much, and lags as far as the
 * slowest node of the quorum. Null if fewer nodes than the quorum have a claim.
 */
export function agreedBlock(claims: readonly (number | null)[], quorum: number): number | null {
  const sorted = claims.flatMap((claim) => claim ?? []).sort((a, b) => b - a);
  return sorted[quorum - 1] ?? null;
}

/**
 * The least depth at which two nodes agreed, or at which a lone node first called a block final. It caps the claims of
 * a lone node. `next` is the depth that a lone node has claimed in every hour since `sinceMs`. It replaces `least`
 * after a day: a network that became faster does not wait for ever, and a node that lies for an hour gains nothing.
 */
export type LearnedDepth = {
  readonly least: number | null;
  readonly next: number | null;
  readonly sinceMs: number | null;
};

const LONE_NODE_MS = 24 * 3_600_000;

/** Returns the learned depth after two nodes have agreed on a block at `depth`. */
export function learnTogether({ least }: LearnedDepth, depth: number): LearnedDepth {
  return { least: Math.min(least ?? depth, depth), next: null, sinceMs: null };
}

/** Returns the learned depth after an hour with claims from only one node. `depth` is its least claim in that hour. */
export function learnAlone({ least, next, sinceMs }: LearnedDepth, depth: number, nowMs: number): LearnedDepth {
  if (least === null || depth >= least) return { least: least ?? depth, next: null, sinceMs: null };
  const claimed = Math.max(next ?? depth, depth);
  // If the clock was set back, the day begins again.
  const since = sinceMs === null || sinceMs > nowMs ? nowMs : sinceMs;
  if (nowMs - since < LONE_NODE_MS) return { least, next: claimed, sinceMs: since };
  return { least: claimed, next: null, sinceMs: null };
}

/** The claim of a lone node, no nearer to the head than two nodes ever agreed. */
export function capAlone(claim: number, head: number, { least }: LearnedDepth): number {
  return least === null ? claim : Math.min(claim, Math.max(0, head - least));
}

/** The votes of nodes on one log in its block. Each list has the ids of nodes. */
export type Votes = { readonly yes: readonly string[]; readonly no: readonly string[] };

export const NO_VOTES: Votes = { yes: [], no: [] };
const MAX_VOTES = 16;

/** The newest vote of a node replaces its earlier one. */
export function withVote({ yes, no }: Votes, node: string, isYes: boolean): Votes {
  const others = (list: readonly string[]) => list.filter((each) => each !== node);
  const add = (list: readonly string[]) => [...others(list), node].slice(-MAX_VOTES);
  return isYes ? { yes: add(yes), no: others(no) } : { yes: others(yes), no: add(no) };
}

/**
 * | verdict     | meaning                                                            |
 * |-------------|--------------------------------------------------------------------|
 * | `confirmed` | a quorum has shown the log, and more nodes than have denied it     |
 * | `denied`    | a quorum has denied it, and more nodes than have shown it          |
 * | `open`      | a node that has not voted yet could decide it                      |
 * | `disputed`  | every present node has voted, and neither side has a quorum        |
 */
export type Verdict = 'confirmed' | 'denied' | 'open' | 'disputed';

export function judgeVotes({ yes, no }: Votes, quorum: number, isComplete: boolean): Verdict {
  if (yes.length >= quorum && yes.length > no.length) return 'confirmed';
  if (no.length >= quorum && no.length > yes.length) return 'denied';
  return isComplete ? 'disputed' : 'open';
}
