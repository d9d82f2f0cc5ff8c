import { expect, test } from 'bun:test';
import { followCluster } from '../../../support/chain/solana/followed-cluster.ts';
import { runForks } from '../../../support/chain/solana/fork-trial.ts';
import { seededRandom } from '../../../support/random.ts';
import { onEveryEngine } from '../../../support/stores.ts';

/**
 * Forks on each engine, with two instances. One takes over while the other is about to write a step, and an instance dies before
 * or after a step is written. `SOLANA_FORKS=1000` is the number of forks, and `SHOW_FORKS=1` prints the sums.
 */

const FORKS = Number(process.env.SOLANA_FORKS ?? 30);
const FIRST_SEED = Number(process.env.SOLANA_SEED ?? 1_000);
const SLOTS = 400;
const LIMIT_MS = 3_600_000;

class Killed extends Error {}

const NODES = [
  { thinned: 25, missing: 8, failing: 3, hasty: 30, isBySignature: true },
  { lag: 2, thinned: 25, missing: 8, failing: 10, isBySignature: true },
  { failing: 2 },
] as const;

onEveryEngine('Solana with forks and kills', (store) => {
  test(
    'leads to exactly its payments',
    async () => {
      const sum = { forks: 0, payments: 0, kills: 0, takeovers: 0, processed: 0, retracted: 0 };
      for (let seed = FIRST_SEED; sum.forks < FORKS; seed++) {
        const random = seededRandom(seed);
        let [kills, takeovers] = [0, 0];
        let overtake: (() => Promise<void>) | null = null;
        const onCommit = async (_: unknown, isWritten: boolean) => {
          const fate = random.below(250);
          if (fate === 0) {
            kills++;
            throw new Killed();
          }
          const isOvertaken = fate < 4 && !isWritten && overtake !== null;
          if (!isOvertaken) return;
          const once = overtake;
          overtake = null;
          takeovers++;
          await once?.();
        };
        // One in three runs has a single node, which may leave out and fail, and does not lie about finality.
        const nodes = seed % 3 === 0 ? [{ thinned: 10, failing: 3, isBySignature: true }] : NODES;
        const network = await followCluster(store.db, { seed, nodes, onCommit });
        const onPoll = async () => {
          overtake = network.overtake;
          if (random.below(40) === 0) await network.replace();
        };
        const onError = async (error: unknown) => {
          if (!(error instanceof Killed)) throw error;
          await network.replace();
        };
        const result = await runForks(network, { slots: SLOTS, onPoll, onError });
        const { missing, extra, misplaced, early } = result;
        expect({ seed, missing, extra, misplaced, early }).toEqual({
          seed,
          missing: 0,
          extra: 0,
          misplaced: 0,
          early: 0,
        });
        expect(result.finalized).toBe(result.payments);
        expect(result.processed - result.payments).toBe(result.retracted);
        sum.forks += result.forks;
        sum.payments += result.payments;
        sum.kills += kills;
        sum.takeovers += takeovers;
        sum.processed += result.processed;
        sum.retracted += result.retracted;
      }
      if (process.env.SHOW_FORKS === '1') console.log(JSON.stringify(sum));
      expect(sum.kills).toBeGreaterThan(0);
      expect(sum.takeovers).toBeGreaterThan(0);
      expect(sum.retracted).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});
