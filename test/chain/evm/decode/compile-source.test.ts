import { describe, expect, test } from 'bun:test';
import { compileSource, topicsOf } from '../../../../src/chain/evm/decode/definition/compile-source.ts';
import { definitionHash, type SourceDefinition } from '../../../../src/domain/chain/source-definition.ts';
import {
  CONTRACT,
  definitionOf,
  library,
  PAYEE,
  PAYEE_CHECKSUMMED,
  PAYER,
  PAYER_CHECKSUMMED,
  TOKEN,
  word,
} from '../../../support/chain/logs.ts';

const ABI =
  'event Paid(address indexed payer, uint64 indexed plan, string indexed note, uint256 amount, address token, bool ok, int8 delta, string memo, bytes blob, bytes4 tag, uint256[] parts)';

const compile = (changes: Partial<SourceDefinition>) =>
  compileSource(definitionOf({ abi: ABI, event: 'Transfer', ...changes }), library);

function errorsOf(changes: Partial<SourceDefinition>): Record<string, string> {
  const compiled = compile(changes);
  return compiled.isValid ? {} : Object.fromEntries(compiled.errors.map(({ name, message }) => [name, message]));
}

function valid(changes: Partial<SourceDefinition>) {
  const compiled = compile(changes);
  if (!compiled.isValid) throw new Error(JSON.stringify(compiled.errors));
  return compiled;
}

const erc20 = (changes: Partial<SourceDefinition>) => ({
  preset: 'erc20' as const,
  abi: null,
  event: null,
  ...changes,
});

/** One digit of it is another one. */
const MISTYPED = PAYER_CHECKSUMMED.replace('0x7', '0x6');

describe('a definition', () => {
  test('asks nodes only for the topics that its conditions allow', () => {
    const note = `0x${'A'.repeat(64)}`;
    const { source } = valid({
      where: { payer: [PAYEE_CHECKSUMMED, PAYER], plan: ['7', 8], note: [note], ok: [true] },
    });
    const address = (each: string) => `0x${'0'.repeat(24)}${each.slice(2)}`;
    expect(topicsOf(source)).toEqual([[address(PAYEE), address(PAYER)], [word(7), word(8)], [note.toLowerCase()]]);
    expect(topicsOf(valid({ where: { amount: ['1'] } }).source)).toEqual([null, null, null]);
  });

  test('writes negative numbers, booleans and bytes of a fixed size as nodes have them', () => {
    const abi = 'event A(int8 indexed a, bool indexed b, bytes4 indexed c)';
    const { source } = valid({ abi, where: { a: [-1], b: [true, false], c: ['0xABcd0102'] } });
    expect(topicsOf(source)).toEqual([[`0x${'f'.repeat(64)}`], [word(1), word(0)], [`0xabcd0102${'0'.repeat(56)}`]]);
  });

  test('has one hash however it is written, and another for anything that it asks for', () => {
    const written: Partial<SourceDefinition> = {
      contract: CONTRACT.toUpperCase().replace('0X', '0x'),
      abi: ` ${ABI.replace('uint256 amount', 'uint  amount')};`,
      where: { ok: [true], plan: ['7', 7, '08'], payer: [PAYEE_CHECKSUMMED, PAYER] },
      fields: { currency: { is: 'USDC' }, amount: { token: TOKEN.toUpperCase().replace('0X', '0x'), from: 'amount' } },
    };
    const plain: Partial<SourceDefinition> = {
      where: { payer: [PAYER, PAYEE], plan: ['8', '7'], ok: [true] },
      fields: { amount: { from: 'amount', token: TOKEN }, currency: { is: 'USDC' } },
    };
    const hash = (changes: Partial<SourceDefinition>) => definitionHash(valid(changes).definition);
    expect(hash(written)).toBe(hash(plain));
    const others: Partial<SourceDefinition>[] = [
      { networkId: 1 },
      { contract: TOKEN },
      { event: 'Refund' },
      { where: { ...plain.where, ok: [false] } },
      { fields: {} },
      { fromBlock: 5 },
      { deliverHistory: true },
      { abi: ABI.replace('uint64 indexed plan', 'uint64 plan') },
    ];
    const hashes = others.map((other) => hash({ ...plain, ...other }));
    expect(new Set([...hashes, hash(plain)]).size).toBe(others.length + 1);
  });

  test('names an address with a wrong checksum, wherever it is, and takes any other spelling', () => {
    const message = 'has a wrong checksum: its capital letters do not fit. Check each digit, or write it in lower case';
    expect(
      errorsOf({
        contract: MISTYPED,
        where: { payer: [PAYER, MISTYPED] },
        fields: { amount: { from: 'amount', token: MISTYPED } },
      }),
    ).toEqual({ contract: message, 'where.payer.1': message, 'fields.amount.token': message });
    for (const contract of [PAYEE, PAYER_CHECKSUMMED, PAYEE.toUpperCase().replace('0X', '0x')]) {
      expect(errorsOf({ contract })).toEqual({});
    }
  });

  test.each<[string, SourceDefinition['where'], string, string]>([
    [
      'an unknown parameter',
      { amout: ['1'] },
      'where.amout',
      'is not a parameter of the event; its parameters are payer, plan',
    ],
    ['no address', { payer: ['0x12'] }, 'where.payer.0', 'must be an address: 0x and 40 hex digits'],
    ['a number as an address', { token: [5] }, 'where.token.0', 'must be an address'],
    ['a fraction', { amount: ['1.5'] }, 'where.amount.0', 'must be a whole number that fits uint256'],
    ['a number that JSON has rounded', { amount: [2 ** 53] }, 'where.amount.0', 'exact only up to 2^53 - 1'],
    ['a negative number', { amount: ['-1'] }, 'where.amount.0', 'must be a whole number that fits uint256'],
    ['a number that is too large', { plan: [(2n ** 64n).toString()] }, 'where.plan.0', 'that fits uint64'],
    ['a number that is too small', { delta: [-129] }, 'where.delta.0', 'that fits int8'],
    ['a text for a boolean', { ok: ['true'] }, 'where.ok.0', 'must be true or false'],
    ['a number for a text', { memo: [5] }, 'where.memo.0', 'must be a text'],
    ['half a byte', { blob: ['0x123'] }, 'where.blob.0', 'must be 0x and hex digits, two for each byte'],
    ['too few bytes', { tag: ['0x1234'] }, 'where.tag.0', 'must be 0x and 8 hex digits'],
    ['the text of an indexed text', { note: ['rent'] }, 'where.note.0', 'a log has only the keccak-256 hash'],
    ['an array', { parts: ['1'] }, 'where.parts.0', 'cannot be compared: it is an array or a tuple'],
  ])('with %s in where is refused', (_, where, name, message) => {
    expect(errorsOf({ where })[name]).toContain(message);
  });

  test.each<[string, SourceDefinition['fields'], string, string]>([
    ['an unknown parameter', { memo: 'meno' }, 'fields.memo', '"meno" is not a parameter of the event'],
    [
      'an amount from an unknown parameter',
      { amount: { from: 'value', token: 'token' } },
      'fields.amount.from',
      'is not a parameter',
    ],
    [
      'an amount that is no integer',
      { amount: { from: 'memo', token: 'token' } },
      'fields.amount.from',
      'memo is of type string',
    ],
    [
      'an unknown token',
      { amount: { from: 'amount', token: 'coin' } },
      'fields.amount.token',
      'the address of a token is also possible',
    ],
    [
      'a token that is no address',
      { amount: { from: 'amount', token: 'plan' } },
      'fields.amount.token',
      'plan is of type uint64',
    ],
    [
      'a field that Paybell fills',
      { transactionHash: 'memo' },
      'fields.transactionHash',
      'is filled by Paybell: transactionHash',
    ],
    ['the envelope', { event: { is: 'LatePayment' } }, 'fields.event', 'is filled by Paybell: event'],
    [
      'a field of an amount',
      { amountBase: 'amount', amount: { from: 'amount', token: 'token' } },
      'fields.amount',
      'would fill amountBase a second time',
    ],
  ])('with %s in fields is refused', (_, fields, name, message) => {
    expect(errorsOf({ fields })[name]).toContain(message);
  });

  test('reports all errors of where and fields at once', () => {
    const errors = errorsOf({ contract: 'x', where: { nope: ['1'], ok: [1] }, fields: { a: 'nope', event: 'memo' } });
    expect(Object.keys(errors).sort()).toEqual(['contract', 'fields.a', 'fields.event', 'where.nope', 'where.ok.0']);
  });

  test('with an ABI that does not parse is refused under abi', () => {
    expect(errorsOf({ abi: 'event Paid(Token t)' })).toEqual({
      abi: expect.stringContaining('"Token", which is not supported'),
    });
  });
});

describe('a preset', () => {
  test('of a contract that many use needs to know which logs are meant', () => {
    expect(errorsOf(erc20({}))).toEqual({
      where: 'must name to or from: most logs of this contract are other payments',
    });
    expect(errorsOf(erc20({ where: { to: [PAYEE] } }))).toEqual({});
    expect(errorsOf(erc20({ where: { from: [PAYER] } }))).toEqual({});
    expect(errorsOf({ ...erc20({}), preset: 'superfluid', where: { token: [TOKEN] } })).toEqual({
      where: 'must name receiver or sender: most logs of this contract are other payments',
    });
    expect(errorsOf({ ...erc20({}), preset: 'request-network' }).where).toContain('must name to or paymentReference');
  });

  test.each([
    ['request-network', 'tokenAddress', { to: [PAYEE] }],
    ['loop', 'token', {}],
    ['superfluid', 'token', { receiver: [PAYEE] }],
  ] as const)('of %s must name its tokens, because the payer chooses the token', (preset, parameter, where) => {
    expect(errorsOf({ ...erc20({}), preset, where })).toEqual({
      [`where.${parameter}`]: 'is required, because the payer chooses the token',
    });
    expect(errorsOf({ ...erc20({}), preset, where: { ...where, [parameter]: [TOKEN] } })).toEqual({});
  });

  test('takes more fields, and none that it fills itself', () => {
    const where = { to: [PAYEE] };
    expect(errorsOf(erc20({ where, fields: { agreementId: { is: 'agr_1' }, currency: { is: 'USDC' } } }))).toEqual({});
    expect(errorsOf(erc20({ where, fields: { payer: 'to', amountBase: 'value' } }))).toEqual({
      'fields.payer': 'would fill payer a second time; the preset fills it',
      'fields.amountBase': 'would fill amountBase a second time; rename it',
    });
  });

  test('of loop does not let success be anything but true', () => {
    expect(errorsOf({ ...erc20({}), preset: 'loop', where: { success: [false], token: [TOKEN] } })).toEqual({
      'where.success': 'is set by the preset; leave it out',
    });
  });
});
