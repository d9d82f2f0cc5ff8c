import type { Lease } from '../../store/chain/network-store.ts';
import { SourceMeter } from './source-meter.ts';

const LONG_AGO = Number.NEGATIVE_INFINITY;

/**
 * The part of a follower's memory that all families share. Nothing here has to survive a restart, because a few polls
 * learn it again.
 */
export abstract class Memory {
  /** The token of the last lease. If the token changes, `begin` forgets what polls have learned about the chain. */
  token: number | null = null;
  polls = 0;
  /** When the other nodes were last asked for their heads, and all nodes for what they call final. */
  headsAskedAtMs = LONG_AGO;
  tagsAskedAtMs = LONG_AGO;
  /** Whether nodes have different blocks, and none of them has a quorum. */
  isDisagreeing = false;
  /** Nodes that have another block at finality, by their names. */
  readonly conflicts = new Set<string>();
  committedAtMs = LONG_AGO;
  /** Consecutive responses, each of which contradicted the response before. */
  doubts = 0;
  readonly meter = new SourceMeter();

  /** How many blocks one call reads. The next holder of the lease begins with this number. */
  abstract readonly rangeBlocks: number;

  /** Forgets the chain under a new lease, because another holder may have changed the stored state. */
  begin(lease: Lease): void {
    this.polls++;
    if (this.token === lease.token) return;
    this.token = lease.token;
    this.conflicts.clear();
    this.forget(lease);
  }

  /** Whether finality waits for nodes that have not decided about a payment. */
  get isUndecided(): boolean {
    return false;
  }

  /** Drops everything that was learned under an earlier lease. */
  protected abstract forget(lease: Lease): void;
}
