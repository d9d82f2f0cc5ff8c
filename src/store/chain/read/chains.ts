import type { Chain } from '../../../contract/chain/chains.ts';
import { networkName } from '../../../domain/networks.ts';
import { readNowMs } from '../../database/clock.ts';
import type { Database } from '../../database/database.ts';
import { Parameters, type RowOf } from '../../database/sql.ts';
import type { NodeHealth } from '../network-store.ts';
import { networkTable } from '../tables.ts';

/** How far networks are followed, by whichever instance does it. */

const shownColumns = networkTable.pick([
  'networkId',
  'tipNumber',
  'head',
  'safe',
  'final',
  'blockTimeMs',
  'polledAtMs',
  'haltedAtMs',
  'haltedReason',
  'nodes',
]);

/** Well above the time between two polls, and above that of a lease that another instance takes over. */
const LATE_MS = 60_000;
const LATE_BLOCKS = 10;

/** Those of the given networks, in this order, whether or not one was polled yet. */
export async function readChains(db: Database, networkIds: readonly number[]): Promise<Chain[]> {
  if (networkIds.length === 0) return [];
  const parameters = new Parameters();
  const rows = await shownColumns.all(
    db,
    `select ${shownColumns.list} from chains where network_id in ${parameters.list(networkIds)}`,
    parameters.values,
  );
  const byId = new Map(rows.map((row) => [row.networkId, row]));
  const nowMs = await readNowMs(db, db.dialect);
  return networkIds.map((networkId) => toChain(networkId, byId.get(networkId), nowMs));
}

function toChain(networkId: number, row: RowOf<typeof shownColumns> | undefined, nowMs: number): Chain {
  const { tipNumber: tip = null, head = null, safe = null, final = null, polledAtMs = null } = row ?? {};
  const lagBlocks = tip === null || head === null ? null : Math.max(0, head - tip);
  const lagMs = polledAtMs === null ? null : Math.max(0, nowMs - polledAtMs);
  const lagSeconds = lagMs === null ? null : Math.floor(lagMs / 1000);
  return {
    networkId,
    name: networkName(networkId),
    ...stateOf(row, lagBlocks, lagMs),
    ...{ head, safe, final, tip, lagBlocks, lagSeconds },
    nodes: nodesOf(row?.nodes ?? null),
  };
}

function stateOf(
  row: RowOf<typeof shownColumns> | undefined,
  lagBlocks: number | null,
  lagMs: number | null,
): Pick<Chain, 'state' | 'reason'> {
  if (row !== undefined && row.haltedAtMs !== null) return { state: 'halted', reason: row.haltedReason };
  if (row === undefined || lagMs === null) return { state: 'starting', reason: null };
  const lateMs = Math.max(LATE_MS, LATE_BLOCKS * (row.blockTimeMs ?? 0));
  if (lagMs > lateMs) {
    return { state: 'behind', reason: `The last poll was ${Math.floor(lagMs / 1000)} seconds ago.` };
  }
  if (lagBlocks !== null && lagBlocks > 0) {
    return { state: 'behind', reason: `${lagBlocks} ${lagBlocks === 1 ? 'block is' : 'blocks are'} not read yet.` };
  }
  return { state: 'following', reason: null };
}

function nodesOf(json: string | null): Chain['nodes'] {
  const nodes = json === null ? [] : (JSON.parse(json) as NodeHealth[]);
  return nodes.map(({ name, state, head, lastError, lastOkAtMs }) => ({
    name,
    state,
    head,
    lastError,
    dateLastOk: lastOkAtMs === null ? null : Math.floor(lastOkAtMs / 1000),
  }));
}
