import type { Node } from '../rpc/node.ts';
import type { Follow, Poll } from './poll.ts';

/**
 * | kind       | meaning                                                                        |
 * |------------|--------------------------------------------------------------------------------|
 * | `followed` | the network was read                                                           |
 * | `behind`   | the node does not have what was read before                                    |
 * | `minority` | the node has replaced what was read before, and other nodes have not           |
 * | `conflict` | the node contradicts what is final                                             |
 * | `again`    | nothing was read; the next attempt asks for less                               |
 */
export type ReadResult = { readonly kind: 'followed' | 'behind' | 'minority' | 'conflict' | 'again' };

export type Consultation = {
  /** Whether the nodes must say what is final. */
  readonly withTags: boolean;
  /** Whether the leader does not have what was read before. */
  readonly isBehind: boolean;
};

/** How one family of networks is read. A reader writes through `poll.commit` alone, and serves one follower. */
export interface ChainReader {
  /** Whether a poll that leaves blocks unread is followed by the next one at once. Otherwise the pace of the polls bounds their calls. */
  readonly catchesUp: boolean;
  /** Adds the reader's own state to the state that all polls of a follower share. */
  prepare(follow: Omit<Follow, 'memory'>): Follow;
  /** Reads what is new from this node. */
  follow(poll: Poll, node: Node, withTags: boolean): Promise<ReadResult>;
  /** Asks the other nodes for their heads, if that is due. Returns whether another node leads now. */
  consult(poll: Poll, leader: Node, consultation: Consultation): Promise<boolean>;
  /** The checks after a successful reading, in order. If a node fails in one of them, the next one still runs. */
  checks(poll: Poll, leader: Node): readonly (() => Promise<void>)[];
  /** Reads some blocks from before a source was followed. */
  backfill(poll: Poll, node: Node): Promise<void>;
  hasBackfill(poll: Poll): boolean;
}
