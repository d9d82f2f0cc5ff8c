import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, type Queries, StoreUnavailableError } from '../database.ts';

/**
 * Changes of partitions lock a table that every acceptance writes to. While a change waits for its lock, for example because of a
 * long read, all later statements wait behind it. So a change gives up its attempt soon, and tries again.
 */

/** The longest that other statements wait for one attempt. */
const LOCK_TIMEOUT_MS = 100;
const PAUSE_MS = 1_000;
const ATTEMPTS = 10;
/** Deadline of the whole transaction. It is long because three partitions with their indexes are some twenty files. */
const DEADLINE_MS = 15_000;

/** Takes the advisory lock for changes of partitions. Its number is the lock of migrations ("payb" in ASCII) plus 1. */
const CHANGES_PARTITIONS = 'select case when pg_try_advisory_xact_lock(1885436259) then 1 else 0 end as locked';

const LOCK_NOT_AVAILABLE = '55P03';

export type ShortLockOptions = { readonly attempts?: number; readonly pauseMs?: number; readonly signal?: AbortSignal };

/** Runs the work under the lock. Returns null if another instance is changing partitions at this moment. */
export async function withShortLock<Value>(
  db: Database,
  work: (queries: Queries) => Promise<Value>,
  { attempts = ATTEMPTS, pauseMs = PAUSE_MS, signal }: ShortLockOptions = {},
): Promise<Value | null> {
  for (let left = attempts; ; left--) {
    try {
      return await db.transaction(
        async (queries) => {
          await queries.run(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
          return (await isAlone(queries)) ? work(queries) : null;
        },
        { deadlineMs: DEADLINE_MS },
      );
    } catch (error) {
      if (left <= 1 || !isLockTimeout(error) || signal?.aborted === true) throw error;
    }
    await sleep(pauseMs);
  }
}

/** Whether no other instance is changing partitions. If so, takes the lock until the end of the transaction. */
export async function isAlone(queries: Queries): Promise<boolean> {
  const row = await queries.get<{ locked: number }>(CHANGES_PARTITIONS);
  return Number(row?.locked) === 1;
}

export function isLockTimeout(error: unknown): boolean {
  const cause = error instanceof StoreUnavailableError ? error.cause : error;
  return cause instanceof Error && 'errno' in cause && String(cause.errno) === LOCK_NOT_AVAILABLE;
}
