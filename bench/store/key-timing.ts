import { makeApiKey } from '../../src/domain/api-keys.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { randomBytes } from '../../src/store/new-id.ts';
import { call, createTenant, testApp, WEBHOOKS } from '../../test/support/api.ts';
import { createTarget } from '../../test/support/stores.ts';

/**
 * Whether the time of a refusal tells how near a wrong key was: `npx bun bench/store/key-timing.ts [pairs]`. No socket and no limit
 * of wrong keys stand in between, so an attacker sees less than this. Tests whether two kinds of keys differ by Welch's t on
 * times cut at their common 90th percentile, as dudect does, where 4.5 is taken for a difference. A malformed key, which no
 * store is asked for, shows that a difference would be seen.
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

/** Another last character of the random part, with the checksum that goes with it: one right but for 6 of 178 bits. */
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
  'the operator’s key but for its last character': () => ADMIN_KEY.slice(0, -1) + letter().toUpperCase(),
  'as long a text that shares nothing with it': () => Array.from(ADMIN_KEY, letter).join(''),
  'a malformed key': () => `${makeApiKey(randomBytes).slice(0, -1)}!`,
} as const;
type Kind = keyof typeof KINDS;

async function refusalUs(kind: Kind): Promise<number> {
  // Copied, since a text that was put together from parts takes longer to read the first time.
  const who = { ...tenant, apiKey: Buffer.from(KINDS[kind](), 'latin1').toString('latin1') };
  const startedAt = Bun.nanoseconds();
  const { status } = await call(app, who, WEBHOOKS);
  const tookUs = (Bun.nanoseconds() - startedAt) / 1_000;
  if (status !== 401) throw new Error(`${kind} got ${status}`);
  return tookUs;
}

/** Both kinds in the same moments, in an order of chance: whatever else the machine does hits both alike. */
async function measure(one: Kind, two: Kind): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []];
  for (let pair = -WARM_UP; pair < PAIRS; pair++) {
    for (const which of Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      const tookUs = await refusalUs(which === 0 ? one : two);
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
  await compare('the operator’s key but for its last character', 'as long a text that shares nothing with it'),
  await compare('a random key', 'a random key again'),
];
const wouldBeSeen = await compare('a malformed key', 'a random key');
await db.close();
remove();
process.exit(found.includes(true) || !wouldBeSeen ? 1 : 0);
