import { isSuccess } from '../domain/attempt.ts';
import { type Database, StoreUnavailableError } from '../store/database/database.ts';
import { type AttemptRecord, recordAttempts } from '../store/deliveries/record-attempts.ts';

/** For an attempt whose batch failed: if the store refuses what it carries, it is settled without that. */
export async function recordAlone(db: Database, attempt: AttemptRecord): Promise<Set<string>> {
  const decideNext = (one: AttemptRecord) => db.transaction((queries) => recordAttempts(queries, db.dialect, [one]));
  try {
    return await decideNext(attempt);
  } catch (error) {
    // An outage says nothing about the delivery and must not end it.
    if (error instanceof StoreUnavailableError) throw error;
    return decideNext(asUnprocessable(attempt));
  }
}

/** What the receiver has is a fact, and then only its answer is left out; all else ends here, with the reason. */
function asUnprocessable(attempt: AttemptRecord): AttemptRecord {
  const { outcome, next } = attempt;
  if (outcome.kind === 'response' && isSuccess(outcome)) return { ...attempt, outcome: { ...outcome, body: '' } };
  const status = next.delayMs === null ? next.status : 'failed';
  return {
    ...attempt,
    next: { ...next, status, delayMs: null },
    outcome: { kind: 'error', error: 'unprocessable', durationMs: outcome.durationMs },
  };
}
