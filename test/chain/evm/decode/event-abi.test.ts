import { describe, expect, test } from 'bun:test';
import { parseAbiItem, toEventSelector } from 'viem/utils';
import { parseEventAbi } from '../../../../src/chain/evm/decode/definition/event-abi.ts';
import { PRESET_RULES } from '../../../../src/chain/evm/decode/definition/presets.ts';
import { library } from '../../../support/chain/logs.ts';

const parse = (text: string) => parseEventAbi(text, library);

describe('an ABI event', () => {
  test.each([
    'event Transfer(address indexed from, address indexed to, uint256 value)',
    'event PaymentMade(bytes32 indexed agreementId, address payer, uint256 amount)',
    'event A()',
    'event A(uint a, int b, bool c, string d, bytes e, bytes4 f, uint8 g, int96 h)',
    'event A(uint256[] a, address[3] b, bytes32[2][] c)',
    'event A((uint256 a, (string b, bytes c) d)[] indexed t, (address x, bool y) u)',
    'event A(address, uint256 indexed)',
    'event $a_1(address payable to)',
    ...Object.values(PRESET_RULES).map(({ abi }) => abi),
  ])('has the topic that viem computes: %s', (text) => {
    const parsed = parse(text);
    if (typeof parsed === 'string') throw new Error(parsed);
    expect(parsed.topic).toBe(toEventSelector(parseAbiItem(text as never)));
    // What is stored parses to the same event.
    expect(parse(parsed.text)).toEqual(parsed);
  });

  test('is the same event however it is spaced, with its types in full and its end or without', () => {
    const expected = parse('event Paid(uint256 indexed id, address to)');
    expect(parse('  event  Paid( uint   indexed id ,\n address to ) ; ')).toEqual(expected);
    expect(expected).toMatchObject({ text: 'event Paid(uint256 indexed id, address to)' });
    expect(parse('event A(tuple(uint a) t)')).toEqual(parse('event A((uint256 a) t)'));
  });

  test.each([
    ['', 'must declare one event, such as event PaymentMade('],
    ['Transfer(address from)', 'must declare one event'],
    ['function f(uint256 a)', 'must declare one event'],
    ['event A(uint256 a) event B(uint256 b)', 'must have a ( for each )'],
    ['event A(uint256 a', 'must declare one event'],
    ['event 1A(uint256 a)', 'must declare one event'],
    ['event A(uint256 a) anonymous', 'must not be anonymous'],
    ['event A(Token t)', 'has the type "Token", which is not supported'],
    ['event A(uint7 a)', 'has the type "uint7"'],
    ['event A(uint264 a)', 'has the type "uint264"'],
    ['event A(bytes33 a)', 'has the type "bytes33"'],
    ['event A(bytes0 a)', 'has the type "bytes0"'],
    ['event A(fixed a)', 'has the type "fixed"'],
    ['event A(uint256 a,)', 'has the type ""'],
    ['event A(string memory a)', 'must declare parameters as a type'],
    ['event A(uint256 indexed a b)', 'must declare parameters as a type'],
    ['event A(uint256 __proto__)', 'must declare parameters as a type'],
    ['event A(uint256 a, address a)', 'must give each parameter another name: "a" is there twice'],
    ['event A(uint indexed a, uint indexed b, uint indexed c, uint indexed d)', 'at most 3 indexed parameters'],
    ['event A(uint256[0] a)', 'must have arrays of a length from 1 to 1000'],
    ['event A(uint256[1001] a)', 'must have arrays of a length from 1 to 1000'],
    ['event A(uint256[][][] a)', 'must not have arrays of more than 2 dimensions'],
    ['event A(uint256[x] a)', 'has an array that is not valid'],
    ['event A(() a)', 'must not have an empty tuple'],
    ['event A((((uint256 d) c) b) a)', 'must not nest tuples more than 2 deep'],
    ['event A((uint256 a) b))', 'must have a ( for each )'],
    [`event A(${Array.from({ length: 33 }, (_, n) => `bool p${n}`).join(', ')})`, 'must have at most 32 parameters'],
  ])('is refused with the reason: %s', (text, reason) => {
    expect(parse(text)).toContain(reason);
  });
});
