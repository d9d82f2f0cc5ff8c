import { describe, expect, test } from 'bun:test';
import { qrMatrix } from '../../src/dashboard/components/qr/qr-matrix.ts';

/** Reads a code as a scanner does, by rules of the standard that the encoder does not share: remainders instead of tables. */

const BLOCKS: Readonly<Record<number, readonly [blocks: number, data: number, correction: number]>> = {
  21: [1, 16, 10],
  25: [1, 28, 16],
  29: [1, 44, 26],
  33: [2, 32, 18],
  37: [2, 43, 24],
};

const at = (code: boolean[][], row: number, column: number) => (code[row]?.[column] === true ? 1 : 0);

/** The format around the finder at the top left, and its copy at the other two. */
function formatsOf(code: boolean[][]): number[] {
  const size = code.length;
  const first = [
    ...[0, 1, 2, 3, 4, 5, 7, 8].map((column) => at(code, 8, column)),
    ...[7, 5, 4, 3, 2, 1, 0].map((row) => at(code, row, 8)),
  ];
  const second = [
    ...[1, 2, 3, 4, 5, 6, 7].map((up) => at(code, size - up, 8)),
    ...[8, 7, 6, 5, 4, 3, 2, 1].map((left) => at(code, 8, size - left)),
  ];
  return [first, second].map((bits) => Number.parseInt(bits.join(''), 2));
}

/** The remainder of a polynomial over two elements, such as the check of the format. */
function remainder(value: number, divisor: number, degree: number): number {
  let rest = value;
  for (let bit = 14; bit >= degree; bit--) if ((rest >> bit) & 1) rest ^= divisor << (bit - degree);
  return rest;
}

function isFunction(size: number, row: number, column: number): boolean {
  const isFinder = (row < 9 && (column < 9 || column >= size - 8)) || (row >= size - 8 && column < 9);
  const isAlignment = size > 21 && Math.max(Math.abs(row - size + 7), Math.abs(column - size + 7)) <= 2;
  return isFinder || isAlignment || row === 6 || column === 6;
}

const isMasked = (mask: number, i: number, j: number): boolean =>
  [(i + j) % 2, i % 2, j % 3, (i + j) % 3, ((i >> 1) + Math.trunc(j / 3)) % 2][mask] === 0 ||
  (mask === 5 && (i * j) % 6 === 0) ||
  (mask === 6 && (((i * j) % 2) + ((i * j) % 3)) % 2 === 0) ||
  (mask === 7 && (((i + j) % 2) + ((i * j) % 3)) % 2 === 0);

function codewordsOf(code: boolean[][], mask: number): number[] {
  const size = code.length;
  const bits: number[] = [];
  const columns = Array.from({ length: size }, (_, place) => size - 1 - place).filter((column) => column !== 6);
  for (let pair = 0; pair < columns.length; pair += 2) {
    for (let step = 0; step < size; step++) {
      const row = (pair / 2) % 2 === 0 ? size - 1 - step : step;
      for (const column of columns.slice(pair, pair + 2)) {
        if (!isFunction(size, row, column)) bits.push(at(code, row, column) ^ (isMasked(mask, row, column) ? 1 : 0));
      }
    }
  }
  return Array.from({ length: bits.length >> 3 }, (_, word) =>
    Number.parseInt(bits.slice(word * 8, word * 8 + 8).join(''), 2),
  );
}

/** Multiplies in the field by adding shifted values, without tables. */
function multiply(a: number, b: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit--) {
    result = (result << 1) ^ (result > 127 ? 0x11d : 0);
    if ((b >> bit) & 1) result ^= a;
  }
  return result;
}

/** Every root of the generator is a root of a correct block. */
function isCorrect(block: readonly number[], correction: number): boolean {
  let root = 1;
  for (let power = 0; power < correction; power++) {
    if (block.reduce((sum, word) => multiply(sum, root) ^ word, 0) !== 0) return false;
    root = multiply(root, 2);
  }
  return true;
}

function scan(code: boolean[][]): string {
  const [format = 0, copy] = formatsOf(code);
  expect(copy).toBe(format);
  const plain = format ^ 0x5412;
  expect(remainder(plain, 0x537, 10)).toBe(0);
  // Level M is 00.
  expect(plain >> 13).toBe(0);
  const [count = 0, data = 0, correction = 0] = BLOCKS[code.length] ?? [];
  const words = codewordsOf(code, (plain >> 10) & 7);
  const blocks = Array.from({ length: count }, (_, block) =>
    [...Array(data + correction).keys()].map((place) => words[place * count + block] ?? 0),
  );
  for (const block of blocks) expect(isCorrect(block, correction)).toBe(true);
  const bits = blocks.flatMap((block) => block.slice(0, data)).map((word) => word.toString(2).padStart(8, '0'));
  const text = bits.join('');
  expect(text.slice(0, 4)).toBe('0100');
  const length = Number.parseInt(text.slice(4, 12), 2);
  const bytes = Array.from({ length }, (_, byte) => Number.parseInt(text.slice(12 + byte * 8, 20 + byte * 8), 2));
  return new TextDecoder().decode(new Uint8Array(bytes));
}

describe('a QR code', () => {
  test.each([
    ['x'],
    ['TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'],
    ['0x52908400098527886E0F7030069857D2E4169EE7'],
    ['7EqQdEULxWcraVx3mXKFjc84LhCkMGZCkRuDpvcMwJeK-and-more'],
    ['a'.repeat(84)],
  ])('says what it was made of: %s', (text) => {
    const code = qrMatrix(text);
    expect(code === null ? null : scan(code)).toBe(text);
  });

  test('of any length up to 84 bytes is read back, and a longer text has none', () => {
    for (const length of [1, 13, 14, 15, 26, 27, 42, 43, 62, 63, 84]) {
      const text = Array.from({ length }, (_, place) => String.fromCharCode(33 + ((place * 7 + length) % 90))).join('');
      const code = qrMatrix(text);
      expect(code === null ? null : scan(code)).toBe(text);
    }
    expect(qrMatrix('a'.repeat(85))).toBeNull();
  });

  test('has a finder in three corners and a timing pattern between them', () => {
    const code = qrMatrix('0x52908400098527886E0F7030069857D2E4169EE7') ?? [];
    const size = code.length;
    const finder = ['1111111', '1000001', '1011101', '1011101', '1011101', '1000001', '1111111'];
    for (const [top, left] of [
      [0, 0],
      [0, size - 7],
      [size - 7, 0],
    ] as const) {
      const rows = finder.map((_, row) =>
        [...Array(7).keys()].map((column) => at(code, top + row, left + column)).join(''),
      );
      expect(rows).toEqual(finder);
    }
    const timing = [...Array(size - 16).keys()].map((place) => at(code, 6, place + 8)).join('');
    expect(timing).toBe('10'.repeat(size).slice(0, size - 16));
  });
});
