import { loadConfig } from '../../../src/config.ts';
import { createLogger } from '../../../src/log.ts';
import type { Dialect } from '../../../src/store/database/database.ts';
import { SecretBox } from '../../../src/store/tenants/secret-box.ts';

/** Each step of the clock may use up one of the last waits, and no delivery may fail before everything is in order again. */
const RETRY_SCHEDULE = `0s,5s,30s,2m${',4m'.repeat(6)}`;

/** The settings of every instance: short schedules and few slots, so that a minute has what a busy day has. */
export const config = loadConfig(
  { RETRY_SCHEDULE, DELIVERY_CONCURRENCY: '64', DESTINATION_CONCURRENCY: '4', CHAIN_GRACE: '1' },
  { withSecretKey: false },
);

export const box = new SecretBox(new Uint8Array(32).fill(7));
export const log = createLogger('silent');

/** Steps of two rows: a fan-out to five webhooks is as long as one to 2,500. */
const LIMITS = { deliveries: 2, rows: 2, searched: 20, audited: 5 };
/** Changes of facts that one transaction holds. */
export const STEP_CHANGES = 2;

const dialects = new WeakMap<Dialect, Dialect>();

/** One for each database that is opened, because the store keeps its texts by dialect. */
export function simulatedDialect(dialect: Dialect): Dialect {
  const known = dialects.get(dialect) ?? { ...dialect, limits: LIMITS };
  dialects.set(dialect, known);
  return known;
}

/** Who makes a change, and when. */
export function changeNow(): { actor: string; nowS: number } {
  return { actor: 'simulation', nowS: Math.floor(Date.now() / 1000) };
}
