import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { FAULTS } from '../../faults/catalogue.ts';
import { lostOf, RECOVERY_LIMIT_MS } from '../../faults/fault.ts';

/** The short form of `npm run faults`: everything that is done there, a few times each, with leases that end at once. */

// Real processes take their time where others share the machine.
setDefaultTimeout(120_000);

for (const { name, what, engines, tries, run } of FAULTS) {
  describe(`${name}: ${what}`, () => {
    test.each([...engines])('loses nothing on %s, keeps every promise and recovers by itself', async (engine) => {
      const finding = await run({ engine, tries: tries.short, hurry: true, note: () => undefined });
      if (finding === null) {
        console.warn(`${name} on ${engine} cannot be tried on this machine`);
        return;
      }
      expect(finding.broken).toEqual([]);
      expect(lostOf(finding)).toBe(0);
      expect(finding.acknowledged).toBeGreaterThan(0);
      expect(finding.recoveredInMs).toBeLessThan(RECOVERY_LIMIT_MS);
    });
  });
}
