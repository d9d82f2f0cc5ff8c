import { isSuccess } from '../domain/attempt.ts';
import { type Database, StoreUnavailableError } from '../store/database/database.ts';
import { type MadeAttempt, settleAttempts } from '../store/deliveries/record-attempts.ts';

/** For an attempt whose batch failed: if the store refuses what it carries, it is settled without that. */
export async function settleAlone(db: Database, attempt: MadeAttempt): Promise<Set<string>> {
  const settle = (one: MadeAttempt) => db.transaction((queries) => settleAttempts(queries, db.dialect, [one]));
  try {
    return await settle(attempt);
  } catch (error) {
    // An outage says nothing about the delivery and must not end it.
    if (error instanceof StoreUnavailableError) throw error;
    return settle(asUnprocessable(attempt));
  }
}

/** What the receiver has is a fact, and then only its answer is left out; all else ends here, with the reason. */
function asUnprocessable(attempt: MadeAttempt): MadeAttempt {
  const { outcome, settlement } = attempt;
  if (outcome.kind === 'answered' && isSuccess(outcome)) return { ...attempt, outcome: { ...outcome, response: '' } };
  const status = settlement.delayMs === null ? settlement.status : 'failed';
  return {
    ...attempt,
    settlement: { ...settlement, status, delayMs: null },
    outcome: { kind: 'error', error: 'unprocessable', durationMs: outcome.durationMs },
  };
}
