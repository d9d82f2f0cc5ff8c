import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseCsvLine, toCsvLine } from '../../../src/cli/formats/csv.ts';

const cell = fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\n]/.test(text));

test('every list of cells comes back from the line it was written to', () => {
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1 }), (cells) => {
      expect(parseCsvLine(toCsvLine(cells))).toEqual(cells);
    }),
  );
});

test('only cells that need quotes get them, and a quote within is doubled', () => {
  expect(toCsvLine(['plain', 'a,b', 'say "x"', ''])).toBe('plain,"a,b","say ""x""",');
});

test.each(['"open', 'a"b', '"a"b', '"a","b', '""""" '])('the misplaced quote in %p makes a line unreadable', (line) => {
  expect(parseCsvLine(line)).toBeNull();
});
