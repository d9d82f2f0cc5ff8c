import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { splitLines } from '../../../src/api/http/ndjson.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const textsOf = (lines: readonly Uint8Array[]) => lines.map((line) => new TextDecoder().decode(line));

/** Counts how often it is searched. */
class Searched extends Uint8Array<ArrayBuffer> {
  searches = 0;

  override indexOf(value: number, from?: number): number {
    this.searches++;
    return super.indexOf(value, from);
  }
}

describe('the lines of a batch', () => {
  test('are all that have anything in them, whichever way they end', () => {
    expect(textsOf(splitLines(encode('a\nb\r\n\n\r\n c \n\nd'), 10))).toEqual(['a', 'b', ' c ', 'd']);
  });

  test('are the same as by splitting the text', () => {
    const text = fc.array(fc.constantFrom('a', ' ', '\n', '\r\n', '\r', '{}')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (sent) => {
        const expected = sent.split('\n').map((line) => line.replace(/\r$/, ''));
        expect(textsOf(splitLines(encode(sent), 1_000))).toEqual(expected.filter((line) => line !== ''));
      }),
    );
  });

  test('are read no further than so many', () => {
    const bytes = Searched.from(encode('a\n'.repeat(10_000))) as Searched;
    expect(splitLines(bytes, 3)).toHaveLength(3);
    expect(bytes.searches).toBe(3);
  });

  test.each(['\n', '\r\n'])('that are empty (%j) are not searched, however many there are', (end) => {
    const bytes = Searched.from(encode(`${end.repeat(100_000)}a`)) as Searched;
    expect(textsOf(splitLines(bytes, 10))).toEqual(['a']);
    expect(bytes.searches).toBe(1);
  });
});
