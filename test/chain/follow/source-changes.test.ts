import { expect, test } from 'bun:test';
import type { Follower } from '../../../src/chain/follow/follower.ts';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import { readDefinition, type SourceUpdate, updateSource } from '../../../src/store/chain/sources/update.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { definitionOf, presetLog, sourceOf, word } from '../../support/chain/logs.ts';
import { addressOf, ModelChain, type ModelTransaction } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';
import { forkAtRandom, storeFollower } from '../../support/chain/store-follower.ts';
import { seededRandom } from '../../support/random.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { suiteRuns } from '../../support/suite.ts';
import { newEntity } from '../../support/webhooks.ts';

const PAYER = addressOf(9);
const PAYEES = [addressOf(11), addressOf(12), addressOf(13)];
const POLL_MS = 2_000;
const LEAST = '0.000005';
let lastNetworkId = 11_000;

type Settings = { readonly payees: readonly string[]; readonly hasLeast: boolean };
type Payment = { readonly payee: string; readonly value: number };
type Options = { readonly seed: number; readonly finalized: number; readonly forks: boolean };

/** A source on the store and a chain in memory. Requests to the node are the moments at which anything else may happen. */
async function newTrial(db: Database, { seed, finalized, forks }: Options) {
  const random = seededRandom(seed);
  const networkId = ++lastNetworkId;
  const entityId = await newEntity(db);
  const chain = new ModelChain();
  chain.mineEmpty(20);
  const model = new ModelNode(chain, { chainId: networkId, finalized, safe: finalized });
  const payments = new Map<string, Payment>();
  const sources = new FollowedSources();
  const isHistory = random.below(3) === 0;
  const prepare = ({ payees, hasLeast }: Settings) => {
    const definition: SourceDefinition = {
      ...definitionOf({ networkId, preset: 'erc20', where: { to: payees } }),
      ...{ fromBlock: 5, deliverHistory: isHistory },
      ...(hasLeast ? { minAmount: LEAST } : {}),
    };
    return { definition, topic: sourceOf({ preset: 'erc20' }).topic, topics: topicsOf(payees), head: chain.head };
  };
  const first: Settings = { payees: [addressOf(11)], hasLeast: false };
  const { source } = await createSource(db, entityId, prepare(first), 10, TEST_CHANGE);
  const { sourceId } = source;
  const history: { from: number; settings: Settings }[] = [{ from: 0, settings: first }];
  let holder = 0;
  let ms = 0;
  let isActing = true;
  let follower = newFollower();

  function newFollower(): Follower {
    const exchange = async (payload: unknown) => {
      while (isActing && random.below(3) === 0) await act();
      return model.exchange(payload);
    };
    const exchanges = { model: exchange };
    return storeFollower(db, { networkId, exchanges, nowMs: () => ms, holder: `holder ${holder}`, sources });
  }

  const update = async (changes: SourceUpdate) => {
    const revision = (await readDefinition(db, entityId, sourceId))?.revision ?? 0;
    return updateSource(db, entityId, sourceId, revision, changes, TEST_CHANGE);
  };

  async function act(): Promise<void> {
    const action = random.below(10);
    if (action < 4) {
      const settings = { payees: PAYEES.filter(() => random.below(2) === 0), hasLeast: random.below(2) === 0 };
      if (settings.payees.length === 0) return;
      const result = await update({ prepared: prepare(settings) });
      if (result.kind === 'updated') history.push({ from: result.source.appliesFromBlock, settings });
    } else if (action < 6) await update({ isPaused: random.below(2) === 0 });
    else for (let block = random.below(6) === 0 ? 15 : 1; block > 0; block--) mine();
  }

  function pay(): ModelTransaction {
    const payment = { payee: PAYEES[random.below(PAYEES.length)] ?? PAYER, value: 1 + random.below(9) };
    const made = chain.transaction({ logs: [presetLog('erc20', [PAYER, payment.payee, BigInt(payment.value)])] });
    payments.set(made.hash, payment);
    return made;
  }

  function mine(): void {
    chain.mine(Array.from({ length: random.below(3) }, pay));
  }

  async function poll(): Promise<boolean> {
    ms += POLL_MS;
    return (await follower.poll()).hasBackfill;
  }

  async function run(): Promise<void> {
    for (let round = 0; round < 40; round++) {
      for (let block = random.below(3); block > 0; block--) mine();
      if (forks && random.below(4) === 0) forkAtRandom(chain, random);
      if (random.below(8) === 0) {
        // Another instance takes the network, as after the end of the first one.
        holder++;
        await db.transaction((queries) =>
          queries.run('update chains set lease_ms = 0 where network_id = $1', [networkId]),
        );
        follower = newFollower();
      }
      await poll();
    }
    isActing = false;
    await update({ isPaused: false });
    for (let round = 0; round < 30; round++) {
      chain.mine();
      await poll();
    }
    for (let rounds = 0; (await poll()) && rounds < 200; rounds++);
  }

  function settingsAt(block: number): Settings {
    return history.findLast(({ from }) => from <= block)?.settings ?? first;
  }

  async function stored(): Promise<Map<string, boolean>> {
    const sql = `select transaction_hash, is_silent from facts where entity_id = $1 and state in ('seen', 'final')`;
    const rows = await db.all<{ transaction_hash: string; is_silent: number }>(sql, [entityId]);
    expect(new Set(rows.map(({ transaction_hash }) => transaction_hash)).size).toBe(rows.length);
    return new Map(rows.map(({ transaction_hash, is_silent }) => [transaction_hash, is_silent === 1]));
  }

  const isTaken = (hash: string, block: number) => settingsAt(block).payees.includes(payments.get(hash)?.payee ?? '');
  return { chain, payments, run, stored, settingsAt, isTaken };
}

function topicsOf(payees: readonly string[]): (readonly string[] | null)[] {
  return [null, null, payees.map((payee) => word(BigInt(payee))), null];
}

const SEEDS = Number(process.env.CHAIN_SEEDS ?? suiteRuns(1, 12));

onSuiteEngine('a source that changes during polls', (store) => {
  test.each([
    ['final at once', 0, false],
    ['final after 16 blocks', 16, false],
    ['final after 16 blocks, with reorgs', 16, true],
  ])('has each payment once, by the settings of its block, on a network that is %s', async (_, finalized, forks) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const trial = await newTrial(store.db, { seed, finalized, forks });
      await trial.run();
      const stored = await trial.stored();
      const canonical = new Map(trial.chain.logs().map((log) => [log.transactionHash, log.blockNumber]));
      const missed = [...canonical].filter(([hash, block]) => trial.isTaken(hash, block) && !stored.has(hash));
      // A reorg may have moved a payment past a change of the source. It stays.
      const blocksOf = (hash: string) => trial.chain.blocksOf.get(hash) ?? [];
      const wrong = [...stored.keys()].filter(
        (hash) => !canonical.has(hash) || !blocksOf(hash).some(({ number }) => trial.isTaken(hash, number)),
      );
      const isSmall = (hash: string, block: number) =>
        trial.settingsAt(block).hasLeast && (trial.payments.get(hash)?.value ?? 0) < 5;
      const silent = [...stored].filter(([hash, isSilent]) => isSilent !== isSmall(hash, canonical.get(hash) ?? 0));
      expect({ seed, missed, wrong, silent: forks ? [] : silent }).toEqual({ seed, missed: [], wrong: [], silent: [] });
    }
  });
});
