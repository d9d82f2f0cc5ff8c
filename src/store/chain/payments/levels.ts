import { type Levels, reachedBlock } from '../../../domain/chain/finality.ts';
import type { Queries } from '../../database/database.ts';
import { networkTable } from '../tables.ts';

/** The levels of a network, from which Paybell computes the states `seen` and `safe` of payments. */
export type NetworkLevels = {
  readonly networkId: number;
  readonly levels: Levels;
  /** The newest block that is safe; null before the network has named one. */
  readonly safeBlock: number | null;
  readonly blockTimeMs: number | null;
  /** The usual time from a block to its finality; null before Paybell has measured it. */
  readonly finalLagMs: number | null;
  /** Whether the network is neither halted nor stalled, so that a time can be estimated. */
  readonly isMoving: boolean;
};

const levelColumns = networkTable.pick([
  'networkId',
  'head',
  'safe',
  'final',
  'blockTimeMs',
  'finalLagMs',
  'haltedAtMs',
  'stalledSinceMs',
]);

/** Reads all networks of this server: one row for each entry of `CHAIN_RPC`. */
export async function readNetworkLevels(queries: Pick<Queries, 'all'>): Promise<ReadonlyMap<number, NetworkLevels>> {
  const rows = await levelColumns.all(queries, `select ${levelColumns.list} from chains`);
  return new Map(
    rows.map(({ networkId, head, safe, final, blockTimeMs, finalLagMs, haltedAtMs, stalledSinceMs }) => {
      const levels = { head: head ?? 0, safe, final };
      const safeBlock = reachedBlock('safe', levels);
      const isMoving = haltedAtMs === null && stalledSinceMs === null;
      return [networkId, { networkId, levels, safeBlock, blockTimeMs, finalLagMs, isMoving }];
    }),
  );
}
