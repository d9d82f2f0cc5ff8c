import { describe, expect, test } from 'bun:test';
import { FAULTS } from '../../faults/catalogue.ts';
import { lostOf, recoveryLimitMs } from '../../faults/fault.ts';
import { kill } from '../../faults/harness/testbed.ts';
import { throughInterruptions } from '../../faults/trials/order/interruptions.ts';

/** The faults of `npm run faults` with few trials each, and with leases that expire at once. */

describe('no acknowledged event is lost, every guarantee holds and the service recovers by itself', () => {
  test.each(FAULTS.map((fault) => [fault.name, fault.what, fault] as const))('%s: %s', async (_name, _what, fault) => {
    // Both engines at the same time, since a trial mostly waits.
    const findings = await Promise.all(
      fault.engines.map(async (engine) => {
        const options = { engine, trials: fault.trials.short, fast: true, progress: () => undefined };
        return { engine, finding: await fault.run(options) };
      }),
    );
    for (const { engine, finding } of findings) {
      if (finding === null) {
        console.warn(`This machine cannot inject ${fault.name} on ${engine}`);
        continue;
      }
      expect({ engine, violations: finding.violations }).toEqual({ engine, violations: [] });
      expect(lostOf(finding)).toBe(0);
      expect(finding.acknowledged).toBeGreaterThan(0);
      expect(finding.recoveredInMs).toBeLessThan(recoveryLimitMs({ fast: true }));
    }
  });
});

test('the trial of order finds the requests of an endpoint without order to be out of order', async () => {
  const options = { engine: 'sqlite', trials: 1, fast: true, progress: () => undefined } as const;
  const { violations } = await throughInterruptions(options, kill, 'none');
  expect(violations.join()).toMatch(/requests were out of order.*deliveries were overtaken/);
});
