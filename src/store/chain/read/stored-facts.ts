import { NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import type { StoredFact } from '../../../domain/chain/facts.ts';
import { NO_VOTES, type Votes } from '../../../domain/chain/witnesses.ts';
import type { Queries } from '../../database/database.ts';
import type { RowOf } from '../../database/sql.ts';
import { factTable } from '../tables.ts';

/** Facts as the follower of a network compares them with its blocks. */

const STORED = [
  'entityId',
  'factId',
  'sourceId',
  'state',
  'revision',
  'transactionHash',
  'contract',
  'blockNumber',
  'blockHash',
  'logIndex',
  'lostAtHead',
  'eventNo',
  'votes',
  'isDisputed',
  'isSilent',
] as const;

const storedColumns = factTable.pick(STORED);
export const heldColumns = factTable.pick([...STORED, 'nextAskBlock']);

export async function readStored(
  queries: Pick<Queries, 'all'>,
  where: string,
  parameters: readonly (string | number)[],
): Promise<StoredFact[]> {
  return toStored(
    await storedColumns.all(queries, `select ${storedColumns.list} from facts where ${where}`, parameters),
  );
}

export function toStored(rows: readonly RowOf<typeof storedColumns>[]): StoredFact[] {
  return rows.map(({ contract, blockNumber, blockHash, logIndex, eventNo, votes, isDisputed, isSilent, ...fact }) => ({
    ...fact,
    votes: votes === null ? NO_VOTES : (JSON.parse(votes) as Votes),
    isDisputed: isDisputed === 1,
    isSilent: isSilent === 1,
    position:
      blockNumber === null || blockHash === null || logIndex === null ? null : { blockNumber, blockHash, logIndex },
    isHeld: eventNo !== null,
    ...(contract === NATIVE_TOKEN && { isCoin: true }),
  }));
}
