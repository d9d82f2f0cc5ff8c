import type { Database } from '../../store/database/database.ts';
import { DAYS_AHEAD, readDaysAhead } from '../../store/database/partitions/ahead.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** The job makes a partition every day. With fewer than these, it has failed for days. */
const FEW_DAYS = DAYS_AHEAD - 2;

/** Null if the tables are not partitioned. */
export async function checkPartitions(db: Database): Promise<Finding | null> {
  const days = await readDaysAhead(db);
  if (days === null) return null;
  const fix =
    'Check that an instance with ROLE all or delivery is running, and its log for the job "partitions"; ' +
    `make them now: ${PAYBELL} migrate --partition`;
  if (days < 1) {
    return failure('partitions', 'none for tomorrow: new rows go into the default partition, and nothing is lost', fix);
  }
  const found = `made for the next ${days} days`;
  return days < FEW_DAYS ? warning('partitions', found, fix) : ok('partitions', found);
}
