import { describe, expect, test } from 'bun:test';
import type { CallOutcome, ContractCall } from '../../../../src/chain/evm/decode/contract-calls.ts';
import type { Log } from '../../../../src/chain/evm/rpc/types.ts';
import { CONTRACT, PAYEE, PAYER, presetLog, sourceOf, TOKEN, testDecoder, word } from '../../../support/chain/logs.ts';

const DECIMALS = '0x313ce567';
/** The calls of decimals() and symbol(). */
const TOKEN_CALLS = new Set([DECIMALS, '0x95d89b41']);
const source = () => sourceOf({ preset: 'superfluid', where: { receiver: [PAYEE], token: [TOKEN] } });
const flow = (rate: bigint, position: Partial<Log> = {}, sender = PAYER) =>
  presetLog('superfluid', [TOKEN, sender, PAYEE, rate, -rate, rate, '0x'], position);

/** A node that says with which rate the flow stood at the end of a block. */
function withRates(rateAt: (block: number) => bigint | null) {
  return testDecoder(({ data, block }: ContractCall): CallOutcome => {
    if (data === DECIMALS) return { data: word(18) };
    const rate = rateAt(block === 'latest' ? Number.NaN : block);
    return rate === null
      ? { failed: 'unknown' }
      : { data: `0x${[1n, rate, 2n, 3n].map((each) => word(each).slice(2)).join('')}` };
  });
}

describe('a log of superfluid', () => {
  test('opens an agreement where the flow had no rate in the block before', async () => {
    const { decoder, calls } = withRates(() => 0n);
    const [fact] = await decoder.decode([flow(385_802_469_135n)], [source()]);
    expect(fact).toMatchObject({
      kind: 'AgreementSignedUp',
      agreementId: `${PAYER}-${PAYEE}-${TOKEN}`,
      transferId: null,
      fields: {
        flowRate: '0.000000385802469135',
        flowRateBase: '385802469135',
        agreementId: `${PAYER}-${PAYEE}-${TOKEN}`,
      },
    });
    const padded = [TOKEN, PAYER, PAYEE].map((each) => each.slice(2).padStart(64, '0')).join('');
    expect(calls.filter(({ data }) => !TOKEN_CALLS.has(data))).toEqual([
      { to: CONTRACT, data: `0xe6a1e888${padded}`, block: 99 },
    ]);
  });

  test('that changes the rate of an open flow is no event', async () => {
    const { decoder, skipped } = withRates(() => 7n);
    expect(await decoder.decode([flow(9n)], [source()])).toEqual([]);
    expect(skipped).toEqual([]);
  });

  test('with a rate of zero closes the agreement, and nothing has to be asked for that', async () => {
    const { decoder, calls } = withRates(() => null);
    const [fact] = await decoder.decode([flow(0n)], [source()]);
    expect(fact).toMatchObject({
      kind: 'AgreementCancelled',
      agreementId: `${PAYER}-${PAYEE}-${TOKEN}`,
      fields: { flowRate: '0' },
    });
    expect(calls.filter(({ data }) => !TOKEN_CALLS.has(data))).toEqual([]);
  });

  test('is no event where no node knows the block before, and is counted', async () => {
    const { decoder, skipped } = withRates(() => null);
    expect(await decoder.decode([flow(9n)], [source()])).toEqual([]);
    expect(skipped).toEqual(['unproved']);
  });

  test('counts from the log before it in the same block', async () => {
    const rates = [0n, 5n, 6n, 0n, 8n];
    const logs = rates.map((rate, logIndex) => flow(rate, { logIndex }));
    const kinds = ['AgreementCancelled', 'AgreementSignedUp', 'AgreementCancelled', 'AgreementSignedUp'];
    const { decoder, calls } = withRates(() => 3n);
    const entities = [source(), { ...source(), entityId: 'ent_2' }];
    const facts = await decoder.decode(logs, entities);
    for (const entityId of ['ent_1', 'ent_2']) {
      expect(facts.filter((fact) => fact.entityId === entityId).map(({ kind }) => kind)).toEqual(kinds);
    }
    expect(calls.filter(({ data }) => !TOKEN_CALLS.has(data))).toEqual([]);
  });

  test('asks for each flow of each block once, however often its log is read', async () => {
    const { decoder, calls } = withRates(() => 0n);
    const logs = [flow(5n), flow(5n, { logIndex: 1 }, CONTRACT)];
    for (let poll = 0; poll < 3; poll++) expect(await decoder.decode(logs, [source()])).toHaveLength(2);
    expect(calls.filter(({ data }) => !TOKEN_CALLS.has(data))).toHaveLength(2);
    // Another block before it may say something else.
    await decoder.decode([flow(5n, { blockHash: `0x${'c'.repeat(64)}` })], [source()]);
    expect(calls.filter(({ data }) => !TOKEN_CALLS.has(data))).toHaveLength(3);
  });
});
