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
  /** Whether to ask the nodes for the final block. */
  readonly withTags: boolean;
  /** Whether the leader lacks blocks that were read before. */
  readonly isBehind: boolean;
};

/** Reads the networks of one family. A reader serves one follower, and writes only through `poll.commit`. */
export interface ChainReader {
  /**
   * Whether the next poll starts at once if a poll leaves blocks unread. Otherwise polls keep their pace, which bounds
   * their calls.
   */
  readonly catchesUp: boolean;
  /** Adds the reader's own state to the state that all polls of a follower share. */
  prepare(follow: Omit<Follow, 'memory'>): Follow;
  /** Reads the new blocks from this node. */
  follow(poll: Poll, node: Node, withTags: boolean): Promise<ReadResult>;
  /** Asks the other nodes for their heads, if that is due. Returns whether another node leads now. */
  consult(poll: Poll, leader: Node, consultation: Consultation): Promise<boolean>;
  /** The checks after a successful reading, in order. If a node fails in one of them, the next one still runs. */
  checks(poll: Poll, leader: Node): readonly (() => Promise<void>)[];
  /** Reads some blocks from before a source was followed. */
  backfill(poll: Poll, node: Node): Promise<void>;
  hasBackfill(poll: Poll): boolean;
}
