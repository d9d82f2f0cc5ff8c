import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SUITE_ENGINES } from '../support/suite.ts';
import { WholeLife } from './whole-life.ts';

/** Everything that a whole life of the service leaves behind is searched for everything that it must not hold. */
describe.each(SUITE_ENGINES)('a whole life on %s', (engine) => {
  let life: WholeLife;

  beforeAll(async () => {
    life = await WholeLife.live(engine);
  });

  afterAll(() => life.remove());

  const tracesWith = (text: string) =>
    [...life.traces].filter(([, trace]) => trace.includes(text)).map(([where]) => where);

  test('has left traces of every kind, and knows what to look for', () => {
    const kinds = engine === 'sqlite' ? ['file paybell.db', 'file copy.db'] : ['tables'];
    for (const where of ['standard output', 'requests', ...kinds])
      expect(life.traces.get(where)?.length).toBeGreaterThan(500);
    expect(tracesWith('"request"').length).toBeGreaterThan(0);
    expect([...life.traces.keys()].filter((where) => /→ 4\d\d$/.test(where)).length).toBeGreaterThan(10);
    expect(
      [...life.traces.keys()].filter((where) => where.startsWith('paybell ') && where.endsWith(' → 0')).length,
    ).toBeGreaterThan(5);
    expect([...life.secrets.values()].filter((secret) => secret.startsWith('whsec_'))).toHaveLength(2);
    expect([...life.secrets.values()].filter((secret) => secret.startsWith('pbk_'))).toHaveLength(3);
    // It is searched for where it must be found, so that finding it nowhere else means something.
    expect(tracesWith('webhook-signature')).toContain('requests');
  });

  test('shows no key, secret or token in any response, log, metric, error, list, export, backup or table', () => {
    const found = [...life.secrets].flatMap(([name, secret]) => {
      expect(secret.length).toBeGreaterThan(20);
      return tracesWith(secret).map((where) => `${name} in ${where}`);
    });
    expect(found).toEqual([]);
  });

  test('shows no private signing key anywhere at all', () => {
    const keys = [...life.traces].filter(([, trace]) => /whsk_[\w+/]{40}/.test(trace));
    expect(keys.map(([where]) => where)).toEqual([]);
  });
});
