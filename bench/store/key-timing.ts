import { makeApiKey } from '../../src/domain/keys/api-keys.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { randomBytes } from '../../src/store/new-id.ts';
import { call, createTenant, testApp, WEBHOOKS } from '../../test/support/api.ts';
import { createTarget } from '../../test/support/stores.ts';

/**
 * Whether the time of a rejection shows how close a wrong key is to a valid one: `npx bun bench/store/key-timing.ts [pairs]`.
 * There is no socket and no rate limit here, so an attacker can measure less than this. Two kinds of keys are compared by
 * Welch's t-test on times cut at their common 90th percentile, as dudect does it, where t above 4.5 counts as a difference.
 * A malformed key, which is rejected without a query, shows that the test detects a difference.
 */

const PAIRS = Number(process.argv[2] ?? 20_000);
const WARM_UP = 2_000;
const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const DIFFERENT = 4.5;

const { target, remove } = await createTarget('sqlite');
const db = await openDatabase(target);
await migrate(db);
const tenant = await createTenant(db);
const app = testApp(db, { ADMIN_KEY });

/** A key that differs from the valid one in the last character of its random part, with the checksum that belongs to it. */
function nearMiss(): string {
  const right = tenant.apiKey.slice('pbk_'.length, -6);
  const bytes = [...right].map((character) => ALPHABET.indexOf(character));
  bytes[bytes.length - 1] = ((bytes.at(-1) ?? 0) + 1 + Math.trunc(Math.random() * 61)) % 62;
  return makeApiKey(() => Uint8Array.from(bytes));
}
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const letter = () => ALPHABET.charAt(Math.trunc(Math.random() * 62));
const KINDS = {
  'a random key': () => makeApiKey(randomBytes),
  'a random key again': () => makeApiKey(randomBytes),
  'a key wrong in its last character': nearMiss,
  'the operator’s key with another last character': () => ADMIN_KEY.slice(0, -1) + letter().toUpperCase(),
  'a random text of the same length': () => Array.from(ADMIN_KEY, letter).join(''),
  'a malformed key': () => `${makeApiKey(randomBytes).slice(0, -1)}!`,
} as const;
type Kind = keyof typeof KINDS;

async function rejectionUs(kind: Kind): Promise<number> {
  // Copied, since the first read of a concatenated string takes longer.
  const caller = { ...tenant, apiKey: Buffer.from(KINDS[kind](), 'latin1').toString('latin1') };
  const startedAt = Bun.nanoseconds();
  const { status } = await call(app, caller, WEBHOOKS);
  const tookUs = (Bun.nanoseconds() - startedAt) / 1_000;
  if (status !== 401) throw new Error(`${kind} returned ${status}`);
  return tookUs;
}

/** Alternates between both kinds in random order, so that other work on the machine affects both alike. */
async function measure(one: Kind, two: Kind): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []];
  for (let pair = -WARM_UP; pair < PAIRS; pair++) {
    for (const which of Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      const tookUs = await rejectionUs(which === 0 ? one : two);
      if (pair >= 0) times[which].push(tookUs);
    }
  }
  return times;
}

function cut(times: readonly number[], limit: number): { count: number; mean: number; variance: number } {
  const kept = times.filter((time) => time <= limit);
  const mean = kept.reduce((sum, time) => sum + time, 0) / kept.length;
  const variance = kept.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (kept.length - 1);
  return { count: kept.length, mean, variance };
}

const at = (times: readonly number[], part: number) =>
  times.toSorted((a, b) => a - b)[Math.trunc(times.length * part)] ?? 0;

async function compare(one: Kind, two: Kind): Promise<boolean> {
  const [first, second] = await measure(one, two);
  const limit = at([...first, ...second], 0.9);
  const [a, b] = [cut(first, limit), cut(second, limit)];
  const t = (a.mean - b.mean) / Math.sqrt(a.variance / a.count + b.variance / b.count);
  const differs = Math.abs(t) > DIFFERENT;
  const figures = `means ${a.mean.toFixed(2)} and ${b.mean.toFixed(2)} µs, medians ${at(first, 0.5).toFixed(2)} and ${at(second, 0.5).toFixed(2)} µs`;
  console.log(
    `${one} / ${two}: t = ${t.toFixed(2)}, ${differs ? 'DIFFERENT' : 'no difference'} (${figures}, ${PAIRS} each)`,
  );
  return differs;
}

const found = [
  await compare('a key wrong in its last character', 'a random key'),
  await compare('the operator’s key with another last character', 'a random text of the same length'),
  await compare('a random key', 'a random key again'),
];
const detectsDifference = await compare('a malformed key', 'a random key');
await db.close();
remove();
process.exit(found.includes(true) || !detectsDifference ? 1 : 0);
