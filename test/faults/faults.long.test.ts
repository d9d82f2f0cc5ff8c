import { describe, expect, test } from 'bun:test';
import { FAULTS } from '../../faults/catalogue.ts';
import { type Fault, lostOf, recoveryLimitMs } from '../../faults/fault.ts';
import { kill } from '../../faults/harness/testbed.ts';
import { diskFull } from '../../faults/trials/full-disk.ts';
import { throughInterruptions } from '../../faults/trials/order/interruptions.ts';
import { MOUNTS, needs } from '../support/requirements.ts';
import type { Engine } from '../support/stores.ts';

/** The faults of `npm run faults` with few trials each, and with leases that expire at once. */

/** On both engines at the same time, since a trial mostly waits. */
async function inject(fault: Fault, engines: readonly Engine[]): Promise<void> {
  const findings = await Promise.all(
    engines.map(async (engine) => {
      const options = { engine, trials: fault.trials.short, fast: true, progress: () => undefined };
      return { engine, finding: await fault.run(options) };
    }),
  );
  for (const { engine, finding } of findings) {
    if (finding === null) throw new Error(`this machine cannot inject ${fault.name} on ${engine}`);
    expect({ engine, violations: finding.violations }).toEqual({ engine, violations: [] });
    expect(lostOf(finding)).toBe(0);
    expect(finding.acknowledged).toBeGreaterThan(0);
    expect(finding.recoveredInMs).toBeLessThan(recoveryLimitMs({ fast: true }));
  }
}

describe('no acknowledged event is lost, every guarantee holds and the service recovers by itself', () => {
  test.each(FAULTS.filter((fault) => fault !== diskFull).map((fault) => [fault.name, fault.what, fault] as const))(
    '%s: %s',
    (_name, _what, fault) => inject(fault, fault.engines),
  );

  const ofDisk = `${diskFull.name}: ${diskFull.what}`;
  test(`${ofDisk}, on sqlite`, () => inject(diskFull, ['sqlite']));
  test.skipIf(!MOUNTS.isMet)(`${ofDisk}, on postgres ${needs(MOUNTS)}`, () => inject(diskFull, ['postgres']));
});

test('the trial of order finds the requests of an endpoint without order to be out of order', async () => {
  const options = { engine: 'sqlite', trials: 1, fast: true, progress: () => undefined } as const;
  const { violations } = await throughInterruptions(options, kill, 'none');
  expect(violations.join()).toMatch(/requests were out of order.*deliveries were overtaken/);
});
