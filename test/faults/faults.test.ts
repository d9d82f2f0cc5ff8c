import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { FAULTS } from '../../faults/catalogue.ts';
import { lostOf, RECOVERY_LIMIT_MS } from '../../faults/fault.ts';

/** The short form of `npm run faults`: everything that is done there, a few times each, with leases that end at once. */

// Real processes take their time where others share the machine.
setDefaultTimeout(120_000);

describe('nothing is lost, every promise is kept and the service recovers by itself', () => {
  test.each(FAULTS.map((fault) => [fault.name, fault.what, fault] as const))('%s: %s', async (_name, _what, fault) => {
    // Side by side, since most of a trial is waiting.
    const findings = await Promise.all(
      fault.engines.map(async (engine) => {
        const trial = { engine, tries: fault.tries.short, hurry: true, note: () => undefined };
        return { engine, finding: await fault.run(trial) };
      }),
    );
    for (const { engine, finding } of findings) {
      if (finding === null) {
        console.warn(`${fault.name} cannot be tried on ${engine} on this machine`);
        continue;
      }
      expect({ engine, broken: finding.broken }).toEqual({ engine, broken: [] });
      expect(lostOf(finding)).toBe(0);
      expect(finding.acknowledged).toBeGreaterThan(0);
      expect(finding.recoveredInMs).toBeLessThan(RECOVERY_LIMIT_MS);
    }
  });
});
