import { expect, test } from 'bun:test';
import { InvoiceTrial } from '../../../support/chain/invoice-trial.ts';
import { onEveryEngine } from '../../../support/stores.ts';
import { suiteRuns } from '../../../support/suite.ts';

onEveryEngine('invoices on a chain that forks', (store) => {
  test.each([
    ['without crashes', 0],
    ['with crashes', 4],
  ])('are what their payments say at every finality, %s', async (_, kills) => {
    for (let seed = 1; seed <= suiteRuns(1, 3); seed++) {
      const trial = await InvoiceTrial.start(store.db, { seed: seed + kills, invoices: 12, kills });
      await trial.run();
      expect({ seed, mistakes: await trial.mistakes() }).toEqual({ seed, mistakes: [] });
      expect(trial.invoices.length).toBeGreaterThanOrEqual(12);
      expect(trial.kills > 0).toBe(kills > 0);
    }
  });
});
