import { expect, test } from 'bun:test';
import { EVM } from '../../../src/chain/evm/family.ts';
import { TRON } from '../../../src/chain/tron/family.ts';
import { showTronAddress } from '../../../src/domain/chain/families/tron.ts';
import { compareWithTruth, type TruthNetwork } from '../../support/chain/payment-truth.ts';
import type { RequestFault } from '../../support/chain/rpc-proxy.ts';
import { tronDialect } from '../../support/chain/tron/tron-dialect.ts';
import { seededRandom } from '../../support/random.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { suiteRuns } from '../../support/suite.ts';

const BASE: TruthNetwork = {
  networkId: 8453,
  family: EVM,
  preset: 'erc20',
  address: (hex) => hex,
  dialect: (rpc) => rpc,
  finalDepth: 16,
};

const TRON_NETWORK: TruthNetwork = {
  networkId: 728_126_428,
  family: TRON,
  preset: 'trc20',
  address: showTronAddress,
  dialect: tronDialect,
  finalDepth: 19,
  behaviour: { safe: 'error', fault: refusals() },
};

/** Now and then, the node has too many requests from this address. */
function refusals(): () => RequestFault | null {
  const random = seededRandom(5);
  return () => (random.below(50) === 0 ? { kind: 'body', body: { Error: 'request rate exceeded' } } : null);
}

onSuiteEngine('what is told of a real EVM', (store) => {
  const payments = Number(process.env.CHAIN_PAYMENTS ?? suiteRuns(80, 200));
  const forks = payments / 10;

  test(`is what is in its chain after ${payments} payments and ${forks} forks of up to 9 blocks: 0 wrong`, async () => {
    const truth = await compareWithTruth(store.db, BASE, { payments, forks });
    expect(truth.paid).toBe(payments);
    expect(truth.canonical).toBeGreaterThan(payments / 2);
    expect(truth.retracted).toBeGreaterThan(forks / 2);
    expect(truth.moved).toBeGreaterThan(forks / 2);
    expect(truth.errors).toEqual([]);
  });

  const tronForks = Number(process.env.TRON_FORKS ?? suiteRuns(8, 12));

  test(`is what is in its chain, by a node that speaks as Tron's do, after ${tronForks} forks: 0 wrong`, async () => {
    const truth = await compareWithTruth(store.db, TRON_NETWORK, { payments: tronForks * 4, forks: tronForks });
    expect(truth.paid).toBe(tronForks * 4);
    expect(truth.canonical).toBeGreaterThan(tronForks * 2);
    expect(truth.retracted).toBeGreaterThan(tronForks / 4);
    expect(truth.errors).toEqual([]);
  });
});
