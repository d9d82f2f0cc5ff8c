import { type DestinationKey, destinationKey } from '../../../src/domain/post-url.ts';
import { createLogger } from '../../../src/log.ts';
import { Counter } from '../../../src/metrics/registry.ts';
import { openSqlite } from '../../../src/store/database/sqlite/open.ts';
import { StatsRecorder } from '../../../src/store/stats/recorder.ts';
import type { Stage } from './stage.ts';

const MINUTES = 58;
const MINUTE_MS = 60_000;
const RECEIVERS = ['https://billing.example.com/paybell', 'https://ledger.example.net/inbound/transfers'];

/** Records the statistics of a past hour with one outage, through the service's own recorder with an injected clock. */
export async function recordAnHour({ databaseFile, credentials: { entityId } }: Stage): Promise<void> {
  const db = await openSqlite(databaseFile);
  const nowMs = Date.now();
  let clockMs = nowMs;
  const recorder = new StatsRecorder(db, createLogger('silent'), () => clockMs, new Counter());
  for (let minute = 0; minute < MINUTES; minute++) {
    clockMs = nowMs - (MINUTES - minute) * MINUTE_MS;
    for (const [index, postUrl] of RECEIVERS.entries()) {
      recordMinute(recorder, entityId, destinationKey(entityId, postUrl), minute + index * 3);
    }
    await recorder.flush();
  }
  await db.close();
}

/** Deterministic waves, so that every run draws the same charts. */
function recordMinute(recorder: StatsRecorder, entityId: string, destination: DestinationKey, minute: number): void {
  const events = Math.round(34 + 14 * Math.sin(minute / 6) + 6 * Math.sin(minute * 1.7));
  const isOutage = minute >= 22 && minute < 28;
  for (let event = 0; event < events; event++) {
    recorder.accepted(entityId, [destination]);
    if (isOutage && event % 3 !== 0) continue;
    recorder.delivered(destination, receiptMs(event, events, isOutage));
  }
  if (minute === 27) for (let event = 0; event < 4; event++) recorder.failed(destination);
  // The retries deliver what failed during the outage.
  if (minute >= 28 && minute < 31) for (let event = 0; event < 40; event++) recorder.delivered(destination, 240_000);
}

function receiptMs(event: number, events: number, isOutage: boolean): number {
  const share = event / events;
  const usual = 16 + 12 * share + (share > 0.94 ? 60 : 0) + (share > 0.97 ? 180 : 0);
  return isOutage ? usual * 45 : usual;
}
