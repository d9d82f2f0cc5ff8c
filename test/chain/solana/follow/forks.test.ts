import { expect, test } from 'bun:test';
import { followCluster } from '../../../support/chain/solana/followed-cluster.ts';
import { runForks } from '../../../support/chain/solana/fork-trial.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

onSuiteEngine('payments on Solana', (store) => {
  test('a network with forks and three faulty nodes leads to exactly its payments', async () => {
    const nodes = [
      { thinned: 25, missing: 8, failing: 3, hasty: 30, isBySignature: true },
      { lag: 2, thinned: 25, missing: 8, failing: 10, isBySignature: true },
      { failing: 2 },
    ];
    const network = await followCluster(store.db, { seed: 1, nodes });
    const result = await runForks(network, { slots: 60 });
    expect(result).toMatchObject({ missing: 0, extra: 0, misplaced: 0, early: 0 });
    expect(result.finalized).toBe(result.payments);
    expect(result.retracted).toBe(result.processed - result.payments);
  });
});
