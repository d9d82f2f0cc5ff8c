import { describe, expect, test } from 'bun:test';
import { PRESET_RULES } from '../../../../src/chain/evm/decode/definition/presets.ts';
import type { Log } from '../../../../src/chain/evm/rpc/types.ts';
import { factId } from '../../../../src/domain/chain/fact-id.ts';
import type { SourceDefinition } from '../../../../src/domain/chain/source-definition.ts';
import type { FollowedSource, SourceKey } from '../../../../src/store/chain/network-store.ts';
import {
  CONTRACT,
  logOf,
  NETWORK,
  PAYEE,
  PAYEE_CHECKSUMMED,
  PAYER,
  PAYER_CHECKSUMMED,
  presetLog,
  sourceOf,
  TOKEN,
  testDecoder,
  word,
} from '../../../support/chain/logs.ts';
import { rejection } from '../../../support/rejection.ts';

const TOKEN_CHECKSUMMED = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const CONTRACT_CHECKSUMMED = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const MAX_UINT256 = 2n ** 256n - 1n;

const erc20 = (changes: Partial<SourceDefinition> = {}) =>
  sourceOf({ preset: 'erc20', where: { to: [PAYEE] }, ...changes });
const transfer = (value: bigint, position?: Partial<Log>) => presetLog('erc20', [PAYER, PAYEE, value], position);

async function fieldsOf(log: Log, source = erc20(), decode = testDecoder()) {
  const [fact] = await decode.decoder.decode([log], [source]);
  return fact?.fields;
}

describe('a log of erc20', () => {
  test('proves the payer, the payee, the token and the exact amount', async () => {
    const log = transfer(25_000_001n, { blockNumber: 7, logIndex: 3 });
    const source = erc20();
    expect(await testDecoder().decoder.decode([log], [source])).toEqual([
      {
        entityId: 'ent_1',
        factId: factId({
          networkId: NETWORK,
          transactionHash: log.transactionHash,
          contract: CONTRACT,
          topics: log.topics,
          data: log.data,
          n: 0,
        }),
        networkId: NETWORK,
        sourceId: source.sourceId,
        kind: 'Transfer',
        isSilent: false,
        transactionHash: log.transactionHash,
        contract: CONTRACT_CHECKSUMMED,
        position: { blockNumber: 7, blockHash: log.blockHash, logIndex: 3 },
        fields: {
          payer: PAYER_CHECKSUMMED,
          payee: PAYEE_CHECKSUMMED,
          amount: '25.000001',
          amountBase: '25000001',
          token: CONTRACT_CHECKSUMMED,
        },
        transferId: null,
        agreementId: null,
      },
    ]);
  });

  test.each<[number, bigint, string]>([
    [18, MAX_UINT256, '115792089237316195423570985008687907853269984665640564039457.584007913129639935'],
    [0, MAX_UINT256, MAX_UINT256.toString()],
    [77, MAX_UINT256, '1.15792089237316195423570985008687907853269984665640564039457584007913129639935'],
    [18, 1n, '0.000000000000000001'],
    [6, 1_500_000n, '1.5'],
    [6, 1_000_000n, '1'],
  ])('is exact with %d decimals: %d', async (decimals, value, amount) => {
    const decode = testDecoder(() => ({ data: word(decimals) }));
    expect(await fieldsOf(transfer(value), erc20(), decode)).toMatchObject({ amount, amountBase: value.toString() });
  });

  test.each([
    ['reverts', { failed: 'reverted' as const }],
    ['returns nothing', { data: '0x' }],
    ['returns a short word', { data: '0x12' }],
    ['returns two words', { data: word(6) + word(6).slice(2) }],
    ['returns 78', { data: word(78) }],
    ['returns 2^256 - 1', { data: word(MAX_UINT256) }],
  ])('has only amountBase where decimals() %s, and the token is not asked again', async (_, outcome) => {
    const decode = testDecoder(() => outcome);
    for (const value of [5n, 6n]) {
      const fields = await fieldsOf(transfer(value), erc20(), decode);
      expect(fields).toMatchObject({ amountBase: value.toString(), payer: PAYER_CHECKSUMMED });
      expect(fields).not.toHaveProperty('amount');
    }
    expect(decode.calls).toHaveLength(1);
    expect([...decode.saved]).toEqual([[CONTRACT, { decimals: null, symbol: null }]]);
  });

  test('that moves nothing is dust without an event: anyone can write one about any two addresses', async () => {
    const facts = await testDecoder().decoder.decode([transfer(0n), transfer(1n, { logIndex: 1 })], [erc20()]);
    expect(facts.map(({ isDust, isSilent, fields }) => [isDust ?? false, isSilent, fields.amount])).toEqual([
      [true, true, '0'],
      [false, false, '0.000001'],
    ]);
  });

  test('of another payee, another event or another contract is not the source’s', async () => {
    const { decoder, skipped } = testDecoder();
    const logs = [
      presetLog('erc20', [PAYEE, PAYER, 5n]),
      { ...transfer(5n), address: TOKEN },
      logOf('event Approval(address indexed owner, address indexed spender, uint256 value)', [PAYER, PAYEE, 5n]),
    ];
    expect(await decoder.decode(logs, [erc20()])).toEqual([]);
    expect(skipped).toEqual([]);
  });

  test('that is of a collectible, with its id as a fourth topic, is skipped and counted', async () => {
    const { decoder, skipped } = testDecoder();
    const log = logOf('event Transfer(address indexed from, address indexed to, uint256 indexed id)', [
      PAYER,
      PAYEE,
      5n,
    ]);
    expect(await decoder.decode([log, transfer(5n, { logIndex: 1 })], [erc20()])).toHaveLength(1);
    expect(skipped).toEqual(['undecodable']);
  });
});

describe('a source that has changed', () => {
  const OTHER = `0x${'5'.repeat(40)}`;
  const to = (payee: string, blockNumber: number) => presetLog('erc20', [PAYER, payee, 5n], { blockNumber });
  const first = erc20().definition;
  const changed = (revision: number) => ({
    ...erc20({ where: { to: [OTHER] } }),
    sourceId: 'src_changed',
    revision,
    appliesFrom: 200,
    earlier: [{ revision: 1, definition: first, topics: undefined, fromBlock: 1, untilBlock: 199 }],
  });

  test('takes the logs of each block by the definition of that block', async () => {
    const logs = [to(PAYEE, 199), to(OTHER, 199), to(PAYEE, 200), to(OTHER, 200)];
    const facts = await testDecoder().decoder.decode(logs, [changed(2)]);
    expect(facts.map(({ position, sourceRevision }) => [position.blockNumber, sourceRevision])).toEqual([
      [199, 1],
      [200, 2],
    ]);
    expect(facts.map(({ fields }) => String(fields.payee).toLowerCase())).toEqual([PAYEE, OTHER]);
  });

  test('is compiled again, although it has the same id', async () => {
    const { decoder } = testDecoder();
    const before = { ...erc20(), sourceId: 'src_changed', revision: 1 };
    expect(await decoder.decode([to(OTHER, 200)], [before])).toEqual([]);
    expect(await decoder.decode([to(OTHER, 200)], [changed(2)])).toHaveLength(1);
  });
});

describe('a source with a smallest amount', () => {
  test.each([
    [1_500_000n, false],
    [1_499_999n, true],
    [10n ** 30n, false],
  ])('takes %p of a token with 6 decimals, silently: %p', async (value, isSilent) => {
    const [fact] = await testDecoder().decoder.decode([transfer(value)], [erc20({ minAmount: '1.50' })]);
    expect(fact?.isSilent).toBe(isSilent);
  });

  test('takes amounts of a token that does not say its decimals', async () => {
    const { decoder } = testDecoder(() => ({ failed: 'reverted' }));
    const [fact] = await decoder.decode([transfer(1n)], [erc20({ minAmount: '1.50' })]);
    expect(fact).toMatchObject({ isSilent: false, fields: { amountBase: '1' } });
  });
});

describe('a log of loop', () => {
  const source = () => sourceOf({ preset: 'loop', where: { token: [TOKEN] } });
  const log = (success: boolean, inbound: boolean, id = 'invoice-7') =>
    presetLog('loop', [PAYEE, id, success, inbound, TOKEN, PAYER, 9_900_000n, 100_000n, success ? '0x' : '0x1234']);

  test('is a transfer with the id of the invoice; the end user pays what comes in', async () => {
    const [fact] = await testDecoder().decoder.decode([log(true, true)], [source()]);
    expect(fact).toMatchObject({ kind: 'Transfer', transferId: 'invoice-7', agreementId: null });
    expect(fact?.fields).toEqual({
      transferId: 'invoice-7',
      payer: PAYER_CHECKSUMMED,
      amount: '9.9',
      amountBase: '9900000',
      token: TOKEN_CHECKSUMMED,
      processingFee: '0.1',
      processingFeeBase: '100000',
    });
  });

  test('that goes out is paid to the end user, and says no payer', async () => {
    const fields = await fieldsOf(log(true, false), source());
    expect(fields).toMatchObject({ payee: PAYER_CHECKSUMMED });
    expect(fields).not.toHaveProperty('payer');
  });

  test('with success=false is no payment', async () => {
    const { decoder, skipped } = testDecoder();
    expect(await decoder.decode([log(false, true)], [source()])).toEqual([]);
    expect(skipped).toEqual([]);
  });

  test.each(['', 'x'.repeat(129), 'a\0b', 'line\nline'])(
    'with the id %j has a transferId that nothing is found by',
    async (id) => {
      const [fact] = await testDecoder().decoder.decode([log(true, true, id)], [source()]);
      expect(fact?.fields.transferId).toBe(id);
      expect(fact?.transferId).toBeNull();
    },
  );
});

describe('a log of request-network', () => {
  test('proves a payment of the hash of a reference, and no payer', async () => {
    const reference = `0x${'5'.repeat(64)}`;
    const log = presetLog('request-network', [TOKEN, PAYEE, 5_000_000n, reference, 0n, PAYER]);
    const source = sourceOf({ preset: 'request-network', where: { to: [PAYEE], tokenAddress: [TOKEN] } });
    const [fact] = await testDecoder().decoder.decode([log], [source]);
    expect(fact?.transferId).toBe(reference);
    expect(fact?.fields).toEqual({
      transferId: reference,
      payee: PAYEE_CHECKSUMMED,
      amount: '5',
      amountBase: '5000000',
      token: TOKEN_CHECKSUMMED,
    });
  });
});

describe('a log of a custom source', () => {
  const ABI =
    'event Paid(bytes32 indexed agreement, address payer, uint256 amount, bool ok, string memo, (uint8 a, address b)[] parts)';
  const AGREEMENT = `0x${'9'.repeat(64)}`;
  const log = (amount: bigint, memo = 'rent') =>
    logOf(ABI, [AGREEMENT, PAYER, amount, true, memo, [{ a: 1, b: PAYEE }]]);

  test('has the fields that the map says, of the kind that the source says', async () => {
    const source = sourceOf({
      abi: ABI,
      event: 'Refund',
      where: { ok: [true], amount: ['7', '8'] },
      fields: {
        agreementId: 'agreement',
        transferId: { is: 'fixed' },
        refund: { from: 'amount', token: TOKEN },
        who: 'payer',
        memo: 'memo',
        parts: 'parts',
        ok: 'ok',
        plan: { is: 3 },
      },
    });
    const [fact, ...others] = await testDecoder().decoder.decode([log(7n), log(9n)], [source]);
    expect(others).toEqual([]);
    expect(fact).toMatchObject({ kind: 'Refund', agreementId: AGREEMENT, transferId: 'fixed' });
    expect(fact?.fields).toEqual({
      agreementId: AGREEMENT,
      transferId: 'fixed',
      refund: '0.000007',
      refundBase: '7',
      who: PAYER_CHECKSUMMED,
      memo: 'rent',
      parts: [{ a: '1', b: PAYEE_CHECKSUMMED }],
      ok: true,
      plan: 3,
    });
  });

  test('keeps a text that looks like an address, and 20 bytes, as they are', async () => {
    const abi = 'event A(string a, bytes20 b)';
    const source = sourceOf({ abi, event: 'Transfer', fields: { a: 'a', b: 'b' } });
    expect(await fieldsOf(logOf(abi, [PAYER, PAYER]), source)).toEqual({ a: PAYER, b: PAYER });
  });

  test('is stored without a field that is too large for an event, and says so', async () => {
    const source = sourceOf({ abi: ABI, event: 'Transfer', fields: { memo: 'memo', payer: 'payer' } });
    expect(await fieldsOf(log(1n, 'x'.repeat(199_000)), source)).toMatchObject({ memo: 'x'.repeat(199_000) });
    for (const memo of ['x'.repeat(300_000), '\u0001'.repeat(40_000), '\u20ac'.repeat(80_000)]) {
      expect(await fieldsOf(log(1n, memo), source)).toEqual({ payer: PAYER_CHECKSUMMED, omittedFields: ['memo'] });
    }
  });

  test('that the stored definition does not fit any more leads to nothing, and is counted', async () => {
    const { decoder, skipped } = testDecoder();
    const broken = sourceOf({ abi: ABI, event: 'Transfer', fields: { memo: 'memo' } });
    const source = { ...broken, definition: { ...broken.definition, fields: { memo: 'gone' } } };
    expect(await decoder.decode([log(1n)], [source, erc20()])).toEqual([]);
    expect(skipped).toEqual(['definition']);
  });
});

describe('the decoder', () => {
  test('gives equal logs of one transaction different ids, by their log index, in whichever order they come', async () => {
    const logs = [2, 5, 9].map((logIndex) => transfer(5n, { logIndex }));
    const inOrder = await testDecoder().decoder.decode(logs, [erc20()]);
    const others = await testDecoder().decoder.decode(logs.toReversed(), [erc20()]);
    expect(new Set(inOrder.map((fact) => fact.factId)).size).toBe(3);
    expect(others.map((fact) => [fact.factId, fact.position])).toEqual(
      inOrder.map((fact) => [fact.factId, fact.position]),
    );
  });

  test('gives a log the same id in another block and at another place', async () => {
    const [before] = await testDecoder().decoder.decode([transfer(5n)], [erc20()]);
    const moved = transfer(5n, { blockNumber: 101, blockHash: `0x${'c'.repeat(64)}`, logIndex: 44 });
    const [after] = await testDecoder().decoder.decode([moved], [erc20()]);
    expect(after?.factId).toBe(before?.factId ?? '');
    expect(after?.position.logIndex).toBe(44);
  });

  test('gives a log the same id if another branch has its transaction too', async () => {
    const [alone] = await testDecoder().decoder.decode([transfer(5n, { logIndex: 3 })], [erc20()]);
    const elsewhere = { blockHash: `0x${'c'.repeat(64)}` };
    const copies = [99, 100, 101].map((blockNumber) => transfer(5n, { blockNumber, ...elsewhere }));
    const facts = await testDecoder().decoder.decode([transfer(5n, { logIndex: 3 }), ...copies], [erc20()]);
    expect(facts.map(({ factId }) => factId)).toContain(alone?.factId ?? '');
    const [here] = facts.filter(({ position }) => position.blockHash !== elsewhere.blockHash);
    expect(here?.factId).toBe(alone?.factId ?? '');
  });

  test('gives a log to the oldest source of each entity that takes it', async () => {
    const older = erc20();
    const younger = erc20({ fields: { currency: { is: 'USDC' } } });
    const later = { ...older, sourceId: 'src_later', fromBlock: 500 };
    const other = { ...younger, entityId: 'ent_2', sourceId: 'src_other' };
    const facts = await testDecoder().decoder.decode([transfer(5n)], [later, older, younger, other]);
    expect(facts.map(({ sourceId }) => sourceId)).toEqual([older.sourceId, 'src_other']);
    expect(new Set(facts.map((fact) => fact.factId)).size).toBe(1);
  });

  test('gives a log to a younger source while the oldest waits for its history, unless that would keep it silent', async () => {
    const older = erc20();
    const expectedToo = sourceOf({ preset: 'erc20', where: { to: [PAYEE] } });
    const ownerOf = async (younger: FollowedSource, waiting: readonly FollowedSource[]) => {
      const sources = [older, younger, { ...expectedToo, sourceId: 'src_third' }];
      const waits = ({ sourceId }: SourceKey, block: number) =>
        waiting.some((source) => source.sourceId === sourceId) && block >= 7;
      const logs = [6, 7].map((blockNumber) => transfer(5n, { blockNumber, transactionHash: word(blockNumber) }));
      return (await testDecoder().decoder.decode(logs, sources, { waits })).map(({ sourceId }) => sourceId);
    };
    const younger = { ...erc20(), sourceId: 'src_younger' };
    const dust = { ...erc20({ minAmount: '1' }), sourceId: 'src_dust' };
    expect(await ownerOf(younger, [older])).toEqual([older.sourceId, 'src_younger']);
    expect(await ownerOf(younger, [older, younger])).toEqual([older.sourceId, 'src_third']);
    expect(await ownerOf(dust, [older])).toEqual([older.sourceId, older.sourceId]);
    expect(await ownerOf({ ...younger, createdHead: 10 }, [older])).toEqual([older.sourceId, older.sourceId]);
  });

  test('keeps the order of creation among sources that want other topics, or any', async () => {
    const sources = [
      erc20({ where: { from: [PAYER] } }),
      sourceOf({ abi: PRESET_RULES.erc20.abi, event: 'Refund', where: { value: ['5'] } }),
      erc20({ where: { to: [PAYEE] } }),
    ];
    for (const order of [sources, sources.toReversed(), [sources[1], sources[2], sources[0]]]) {
      const ordered = order.flatMap((source) => source ?? []);
      const facts = await testDecoder().decoder.decode([transfer(5n)], ordered);
      expect(facts.map(({ sourceId }) => sourceId)).toEqual([ordered[0]?.sourceId ?? '']);
    }
  });

  test('calls history silent up to the block at which the source was created, unless it is to be delivered', async () => {
    const logs = [9, 10, 11].map((blockNumber) => transfer(5n, { blockNumber, transactionHash: word(blockNumber) }));
    const silent = async (deliverHistory: boolean, fromBlock: number) => {
      const source = { ...erc20(), createdHead: 10, fromBlock, deliverHistory };
      return (await testDecoder().decoder.decode(logs, [source])).map(({ isSilent }) => isSilent);
    };
    expect(await silent(false, 1)).toEqual([true, true, false]);
    expect(await silent(true, 1)).toEqual([false, false, false]);
    expect(await silent(false, 10)).toEqual([true, false]);
    expect(await silent(false, 12)).toEqual([]);
  });

  test('fails where no node responds, so that nothing is stored without its amount, and asks again', async () => {
    let isDown = true;
    const { decoder, saved } = testDecoder(() => (isDown ? new Error('no node responds') : { data: word(6) }));
    expect(await rejection(decoder.decode([transfer(5n)], [erc20()]))).toMatchObject({ message: 'no node responds' });
    expect(saved.size).toBe(0);
    isDown = false;
    const [fact] = await decoder.decode([transfer(5n)], [erc20()]);
    expect(fact?.fields.amount).toBe('0.000005');
  });

  test('does not keep what a node could not say, and does not ask it for every log', async () => {
    const { decoder, calls, saved } = testDecoder(() => ({ failed: 'unknown' }));
    for (const value of [1n, 2n, 3n]) await decoder.decode([transfer(value)], [erc20()]);
    expect(calls).toHaveLength(1);
    expect(saved.size).toBe(0);
  });

  test.each([
    [0n, true],
    [1n, false],
  ])('leads to no event for a transfer of %d by a source without a preset', async (value, isSilent) => {
    const abi = 'event Paid(uint256 amount)';
    const source = sourceOf({ abi, event: 'Transfer', fields: { amount: { from: 'amount', token: CONTRACT } } });
    const [fact] = await testDecoder().decoder.decode([logOf(abi, [value])], [source]);
    expect([fact?.isSilent, fact?.isDust ?? false]).toEqual([isSilent, isSilent]);
  });

  test('asks at most 20 tokens at a time for their decimals and symbols, however many a contract names', async () => {
    const abi = 'event A(uint256 amount, address token)';
    const source = sourceOf({ abi, event: 'Transfer', fields: { amount: { from: 'amount', token: 'token' } } });
    const logs = Array.from({ length: 100 }, (_, n) => logOf(abi, [5n, `0x${word(n + 1).slice(26)}`], { logIndex: n }));
    const { decoder, calls } = testDecoder();
    const withAmount = async () =>
      (await decoder.decode(logs, [source])).filter(({ fields }) => fields.amount === '0.000005').length;
    expect([await withAmount(), calls.length]).toEqual([20, 40]);
    expect([await withAmount(), calls.length]).toEqual([40, 80]);
  });

  test('asks a token once in its life, also after a restart', async () => {
    const first = testDecoder();
    await first.decoder.decode([transfer(5n)], [erc20()]);
    const second = testDecoder();
    for (const [address, token] of first.saved) second.saved.set(address, token);
    expect(await fieldsOf(transfer(5n), erc20(), second)).toMatchObject({ amount: '0.000005' });
    expect(second.calls).toEqual([]);
  });
});
