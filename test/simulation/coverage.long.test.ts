import { expect, test } from 'bun:test';
import { simulate } from './command.ts';
import { LAWS } from './oracle/laws.ts';

/** Operations and faults that even a few seeds have. */
const FREQUENT = [
  ...['post', 'repeat', 'hold', 'retract', 'block', 'follow', 'payment', 'drop', 'reorder', 'bring-back'],
  ...['invoice', 'pay-invoice'],
  ...['register', 'move', 'filter', 'finality', 'suspend', 'resume', 'delete', 'pause', 'unpause', 'order'],
  ...['redeliver', 'bulk-redeliver', 'retention', 'reconcile', 'receiver-error', 'kill', 'outage'],
];

/** Lines of a trace that show a fault at work. */
const EFFECTS = [
  / received \S+ \S+ error$/,
  / kill i\d+$/,
  / started i\d+$/,
  / clock -?\d+$/,
  / statement (slow|fails)$/,
  / commit slow$/,
  / commit fails$/,
  / commit unanswered$/,
  / node \d \S+$/,
];

test('four seeds carry out every frequent operation, show faults at work, and give every law something to check', async () => {
  const results = await simulate('--seeds', '17..20', '--trace');
  const sum = (counts: readonly Readonly<Record<string, number>>[], name: string) =>
    counts.reduce((total, one) => total + (one[name] ?? 0), 0);
  const occurred = results.map((one) => one.occurred);
  const checked = results.map((one) => one.checked);
  const trace = results.flatMap((one) => one.trace ?? []);
  expect(FREQUENT.filter((name) => sum(occurred, name) === 0)).toEqual([]);
  expect(LAWS.filter(({ id }) => sum(checked, id) < 3)).toEqual([]);
  expect(EFFECTS.filter((line) => !trace.some((one) => line.test(one)))).toEqual([]);
  expect(results.flatMap((one) => commitsWhileStopped(one.trace ?? []))).toEqual([]);
});

/** Commits of instances that were killed before, or are frozen. Healing ends every freeze. */
function commitsWhileStopped(trace: readonly string[]): string[] {
  const killed = new Set<string>();
  const frozenUntil = new Map<string, number>();
  return trace.flatMap((line) => {
    const [time, first = '', second = '', third] = line.split(' ');
    const atMs = Number(time);
    if (first === 'kill') killed.add(second);
    if (first === 'freeze') frozenUntil.set(second, Math.max(frozenUntil.get(second) ?? 0, atMs + Number(third)));
    if (first === 'heal') frozenUntil.clear();
    const isStopped = killed.has(first) || atMs < (frozenUntil.get(first) ?? 0) - 1;
    return second === 'commit' && third === undefined && isStopped ? [line] : [];
  });
}
