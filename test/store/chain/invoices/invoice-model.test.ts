import { expect, test } from 'bun:test';
import type { Database } from '../../../../src/store/database/database.ts';
import { InvoiceTrial } from '../../../support/chain/invoice-trial.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { suiteRuns } from '../../../support/suite.ts';

const CASES = (
  [
    ['with crashes', 4],
    ['without crashes', 0],
  ] as const
).slice(0, suiteRuns(1, 2));

async function tryInvoices(db: Database, kills: number, isCoin: boolean): Promise<void> {
  for (let seed = 1; seed <= suiteRuns(1, 3); seed++) {
    const trial = await InvoiceTrial.start(db, { seed: seed + kills, invoices: 12, kills, isCoin });
    await trial.run();
    expect({ seed, mistakes: await trial.mistakes() }).toEqual({ seed, mistakes: [] });
    expect(trial.invoices.length).toBeGreaterThanOrEqual(12);
    expect(trial.kills > 0).toBe(kills > 0);
  }
}

onSuiteEngine('invoices on a chain that forks', (store) => {
  test.each(CASES)('are what their payments say at every finality, %s', (_, kills) =>
    tryInvoices(store.db, kills, false),
  );
});

/** The coin is another way to the same invoice: the long suite tries it, too. */
const COIN_CASES = CASES.slice(0, suiteRuns(0, 2));

onSuiteEngine('invoices in the coin of a chain that forks', (store) => {
  test.each(COIN_CASES)('are what their payments say at every finality, %s', (_, kills) =>
    tryInvoices(store.db, kills, true),
  );
});
