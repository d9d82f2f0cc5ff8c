import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { prettyJson } from '../../../src/cli/formats/pretty-json.ts';

describe('a body on the terminal', () => {
  test('is laid out as JSON.stringify would, for everything that it does not change', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        expect(prettyJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2));
      }),
    );
  });

  test('keeps long numbers, the order of keys, repeated keys and escapes as they came', () => {
    expect(prettyJson('{"b":123456789012345678901234567890,"1":1e400,"1":"\\u001b\\"{"}')).toBe(
      '{\n  "b": 123456789012345678901234567890,\n  "1": 1e400,\n  "1": "\\u001b\\"{"\n}',
    );
  });

  test('is laid out the same however it was spaced', () => {
    expect(prettyJson(' { "a" : [ 1 , { } ] , "b" : [ ] }\n')).toBe(prettyJson('{"a":[1,{}],"b":[]}'));
  });

  test.each(['', 'not json', '{"a":', '{"a":1} trailing'])('that is no JSON stays as it is: %p', (text) => {
    expect(prettyJson(text)).toBe(text);
  });
});
