import type { Chain } from '../../../contract/chain/chains.ts';
import { callsInLastHour } from '../../../domain/chain/call-minutes.ts';
import { rulesOf } from '../../../domain/chain/families/families.ts';
import { networkName } from '../../../domain/networks.ts';
import { readNowMs } from '../../database/clock.ts';
import type { Database } from '../../database/database.ts';
import { Parameters, type RowOf } from '../../database/sql.ts';
import type { NodeHealth } from '../network-store.ts';
import { networkTable } from '../tables.ts';

/** Reads how far networks were followed, whichever instance follows them. */

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
  'headS',
  'headChangedAtMs',
  'finalLagMs',
  'stalledReason',
  'stalledNode',
  'witnessesNeeded',
]);

/** Well above the time between two polls, and above the time until another instance takes over a lease. */
const LATE_MS = 60_000;
const LATE_BLOCKS = 10;

/** The given networks in this order, including those that were never polled. */
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
  const { headS = null, blockTimeMs = null, finalLagMs = null, witnessesNeeded = null } = row ?? {};
  const lagMs = polledAtMs === null ? null : Math.max(0, nowMs - polledAtMs);
  const headAgeSeconds = ageOf(headS, nowMs);
  const finalDepth = head === null || final === null ? null : head - final;
  const hasFinalAge = headAgeSeconds !== null && finalDepth !== null && blockTimeMs !== null;
  const nodes = nodesOf(row?.nodes ?? null, nowMs);
  const isPresent = ({ state }: Chain['nodes'][number]) => state === 'ok';
  return {
    networkId,
    unit: rulesOf(networkId).unit,
    name: networkName(networkId),
    ...stateOf(row, lagBlocks, lagMs, nowMs),
    ...{ head, safe, final, tip, lagBlocks, lagSeconds: headAgeSeconds, dateHead: headS, headAgeSeconds },
    finalAgeSeconds: hasFinalAge ? headAgeSeconds + Math.round((finalDepth * blockTimeMs) / 1000) : null,
    usualFinalSeconds: finalLagMs === null ? null : Math.round(finalLagMs / 1000),
    witnesses: witnessesNeeded === null ? null : { needed: witnessesNeeded, present: nodes.filter(isPresent).length },
    nodes,
  };
}

/** At least 0, because a block may have a timestamp that is a little ahead of the clock. */
function ageOf(timestampS: number | null, nowMs: number): number | null {
  return timestampS === null ? null : Math.max(0, Math.floor(nowMs / 1000 - timestampS));
}

function stateOf(
  row: RowOf<typeof shownColumns> | undefined,
  lagBlocks: number | null,
  lagMs: number | null,
  nowMs: number,
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
  const headAge = ageOf(row.headS, nowMs) ?? 0;
  const isUnchanged = row.headChangedAtMs !== null && nowMs - row.headChangedAtMs > lateMs;
  if (isUnchanged && headAge * 1000 > lateMs) {
    return { state: 'stalled', reason: `The newest block of every node is at least ${headAge} seconds old.` };
  }
  return TROUBLES[row.stalledReason ?? 'none']?.(row.stalledNode) ?? { state: 'following', reason: null };
}

type Shown = Pick<Chain, 'state' | 'reason'>;

const TROUBLES: Readonly<Record<string, (node: string | null) => Shown>> = {
  nodes_disagree: () => ({
    state: 'disagreeing',
    reason: 'The nodes have different blocks at the same height, and no branch has a quorum.',
  }),
  final_waits: (node) => ({
    state: 'following',
    reason:
      node === null
        ? 'Payments wait for finality, because nodes have not decided about one of them.'
        : `Payments wait for finality, because too few nodes say what is final: see ${node}.`,
  }),
};

function nodesOf(json: string | null, nowMs: number): Chain['nodes'] {
  const nodes = json === null ? [] : (JSON.parse(json) as NodeHealth[]);
  return nodes.map(({ name, state, head, headS, behindBlocks, finalized, lastError, lastOkAtMs, calls }) => ({
    name,
    state,
    head,
    behindBlocks,
    headAgeSeconds: ageOf(headS, nowMs),
    finalized,
    lastError,
    callsLastHour: callsInLastHour(calls, nowMs),
    dateLastOk: lastOkAtMs === null ? null : Math.floor(lastOkAtMs / 1000),
  }));
}
