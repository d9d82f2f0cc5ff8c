import { expect, test } from 'bun:test';
import { LATE_MS, PROBE_EVERY_MS, WorkerGate } from '../../../../src/store/database/citus/worker-gate.ts';
import { SilentWorkerError } from '../../../../src/store/database/database.ts';

/** A gate on a clock that the test moves, whose probes the test answers. */
function gateOnClock() {
  const clock = { nowMs: 1_000 };
  const probes: PromiseWithResolvers<boolean | null>[] = [];
  const changes: boolean[] = [];
  const gate = new WorkerGate(
    'one:5432',
    () => {
      const probe = Promise.withResolvers<boolean | null>();
      probes.push(probe);
      return probe.promise;
    },
    (_, isSilent) => changes.push(isSilent),
    () => clock.nowMs,
  );
  const errors: SilentWorkerError[] = [];
  return {
    ...{ gate, probes, errors, changes },
    begin: () => gate.begin((error) => errors.push(error)),
    pass: (ms: number) => {
      clock.nowMs += ms;
      gate.check();
    },
    answerProbe: async (isAnswered: boolean | null) => {
      probes.at(-1)?.resolve(isAnswered);
      await Bun.sleep(0);
    },
  };
}

async function silentGate() {
  const on = gateOnClock();
  on.begin();
  on.pass(LATE_MS);
  await on.answerProbe(false);
  return on;
}

test('statements that are answered in time cause no probe', () => {
  const { gate, probes, begin, pass } = gateOnClock();
  for (let statement = 0; statement < 10; statement++) {
    const wait = begin();
    pass(LATE_MS - 1);
    gate.end(wait, true);
  }
  pass(10 * LATE_MS);
  expect([gate.state, probes.length]).toEqual(['responding', 0]);
});

test('a statement that waits for a lock makes no worker slow while others are answered', () => {
  const { gate, begin, pass } = gateOnClock();
  begin();
  for (let statement = 0; statement < 10; statement++) {
    const wait = begin();
    pass(LATE_MS / 2);
    gate.end(wait, true);
    expect(gate.state).toBe('responding');
  }
});

test('a worker that answered nothing for a while is probed once, and is silent if the probe fails', async () => {
  const { gate, probes, errors, begin, pass, answerProbe } = gateOnClock();
  begin();
  begin();
  pass(LATE_MS);
  expect(gate.state).toBe('slow');
  pass(100);
  expect(probes).toHaveLength(1);
  gate.require();
  await answerProbe(false);
  expect(gate.state).toBe('silent');
  expect(errors).toHaveLength(2);
  expect(() => gate.require()).toThrow(SilentWorkerError);
});

test('an answer or a probe that gets one makes a slow worker respond again, and cuts nothing', async () => {
  const answered = gateOnClock();
  const wait = answered.begin();
  answered.pass(LATE_MS);
  answered.gate.end(wait, true);
  await answered.answerProbe(false);
  expect([answered.gate.state, answered.errors.length]).toEqual(['responding', 0]);

  const probed = gateOnClock();
  probed.begin();
  probed.pass(LATE_MS);
  await probed.answerProbe(true);
  expect([probed.gate.state, probed.errors.length]).toEqual(['responding', 0]);
  // The statement still waits, and its worker is asked again as late as after another answer.
  probed.pass(LATE_MS - 1);
  expect(probed.gate.state).toBe('responding');
  probed.pass(PROBE_EVERY_MS);
  expect([probed.gate.state, probed.probes.length]).toEqual(['slow', 2]);
});

test('a statement that ends without an answer is no answer', () => {
  const { gate, begin, pass } = gateOnClock();
  const failing = begin();
  begin();
  pass(LATE_MS);
  gate.end(failing, false);
  expect(gate.state).toBe('slow');
});

test('a silent worker is probed once a second, and the first answer opens the gate', async () => {
  const { gate, probes, changes, pass, answerProbe } = await silentGate();
  for (let probe = 2; probe <= 4; probe++) {
    pass(PROBE_EVERY_MS - 1);
    expect(probes).toHaveLength(probe - 1);
    pass(1);
    pass(PROBE_EVERY_MS);
    expect(probes).toHaveLength(probe);
    await answerProbe(probe === 4);
  }
  expect(gate.state).toBe('responding');
  expect(changes).toEqual([true, false]);
  gate.require();
});

test('a coordinator that does not say whether the worker responds changes nothing', async () => {
  const slow = gateOnClock();
  slow.begin();
  slow.pass(LATE_MS);
  await slow.answerProbe(null);
  expect(slow.gate.state).toBe('slow');
  const silent = await silentGate();
  silent.pass(PROBE_EVERY_MS);
  await silent.answerProbe(null);
  expect(silent.gate.state).toBe('silent');
});
