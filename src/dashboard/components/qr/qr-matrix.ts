import { correctionOf } from './reed-solomon.ts';

/**
 * A QR code (ISO/IEC 18004) of a short text, such as an address: bytes, versions 1 to 5, and the level M, which survives the
 * loss of 15 % of the code.
 */

type Version = { readonly size: number; readonly blocks: number; readonly data: number; readonly correction: number };

/** By version: the modules of a side, the blocks, and the codewords of each block. */
const VERSIONS: readonly Version[] = [
  { size: 21, blocks: 1, data: 16, correction: 10 },
  { size: 25, blocks: 1, data: 28, correction: 16 },
  { size: 29, blocks: 1, data: 44, correction: 26 },
  { size: 33, blocks: 2, data: 32, correction: 18 },
  { size: 37, blocks: 2, data: 43, correction: 24 },
];

/** The level and the mask with their error correction, by mask. */
const FORMATS = [0x5412, 0x5125, 0x5e7c, 0x5b4b, 0x45f9, 0x40ce, 0x4f97, 0x4aa0];
const BYTE_MODE = 0b0100;
/** The mode and the length. */
const HEAD_BITS = 12;
const FINDER = 7;

const MASKS: readonly ((row: number, column: number) => boolean)[] = [
  (row, column) => (row + column) % 2 === 0,
  (row) => row % 2 === 0,
  (_, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
];

/** The rows of the code, true for a dark module. Null if the text is too long. */
export function qrMatrix(text: string): boolean[][] | null {
  const bytes = [...new TextEncoder().encode(text)];
  const version = VERSIONS.find(({ blocks, data }) => HEAD_BITS + bytes.length * 8 <= blocks * data * 8);
  if (version === undefined) return null;
  const bits = interleave(dataOf(bytes, version), version).flatMap((word) => bitsOf(word, 8));
  const codes = FORMATS.map((_, mask) => draw(version, bits, mask));
  return codes.reduce((best, code) => (penaltyOf(code) < penaltyOf(best) ? code : best));
}

function bitsOf(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => (value >> (count - 1 - at)) & 1);
}

function dataOf(bytes: readonly number[], { blocks, data }: Version): number[] {
  const capacity = blocks * data;
  const bits = [...bitsOf(BYTE_MODE, 4), ...bitsOf(bytes.length, 8), ...bytes.flatMap((byte) => bitsOf(byte, 8))];
  bits.push(...new Array<number>(Math.min(4, capacity * 8 - bits.length)).fill(0));
  const words = Array.from({ length: Math.ceil(bits.length / 8) }, (_, at) =>
    bits.slice(at * 8, at * 8 + 8).reduce((word, bit, place) => word | (bit << (7 - place)), 0),
  );
  for (let at = 0; words.length < capacity; at++) words.push(at % 2 === 0 ? 0xec : 0x11);
  return words;
}

/** The first codeword of each block, then the second of each, and the correction in the same way. */
function interleave(words: readonly number[], { blocks, data, correction }: Version): number[] {
  const parts = Array.from({ length: blocks }, (_, at) => words.slice(at * data, (at + 1) * data));
  const corrections = parts.map((part) => correctionOf(part, correction));
  const inTurn = (lists: readonly number[][], length: number) =>
    Array.from({ length }, (_, at) => lists.flatMap((list) => list[at] ?? [])).flat();
  return [...inTurn(parts, data), ...inTurn(corrections, correction)];
}

function draw({ size }: Version, bits: readonly number[], mask: number): boolean[][] {
  const code: (boolean | null)[][] = Array.from({ length: size }, () => new Array<boolean | null>(size).fill(null));
  const set = (row: number, column: number, isDark: boolean) => {
    const line = code[row];
    if (line !== undefined && column >= 0 && column < size) line[column] = isDark;
  };
  drawPatterns(size, set);
  drawFormat(size, FORMATS[mask] ?? 0, set);
  const isMasked = MASKS[mask] ?? (() => false);
  let next = 0;
  for (const [row, column] of zigzag(size)) {
    if (code[row]?.[column] !== null) continue;
    set(row, column, (bits[next++] === 1) !== isMasked(row, column));
  }
  return code.map((line) => line.map((module) => module === true));
}

type SetModule = (row: number, column: number, isDark: boolean) => void;

function drawPatterns(size: number, set: SetModule): void {
  for (let at = 8; at < size - 8; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  const end = size - FINDER;
  for (const [top, left] of [
    [0, 0],
    [0, end],
    [end, 0],
  ] as const)
    drawSquares(top + 3, left + 3, 4, set);
  // Version 1 has no alignment pattern.
  if (size > 21) drawSquares(size - 7, size - 7, 2, set);
}

/** Nested squares: dark, light, dark from the centre, with the light border of a finder. */
function drawSquares(row: number, column: number, reach: number, set: SetModule): void {
  for (let down = -reach; down <= reach; down++) {
    for (let right = -reach; right <= reach; right++) {
      const distance = Math.max(Math.abs(down), Math.abs(right));
      const isLight = reach === 4 ? distance === 2 || distance === 4 : distance === 1;
      set(row + down, column + right, !isLight);
    }
  }
}

function drawFormat(size: number, format: number, set: SetModule): void {
  for (const [at, bit] of bitsOf(format, 15).entries()) {
    const isDark = bit === 1;
    if (at < 7) {
      set(8, at === 6 ? 7 : at, isDark);
      set(size - 1 - at, 8, isDark);
    } else {
      set(at === 7 ? 8 : at === 8 ? 7 : 14 - at, 8, isDark);
      set(8, size - 15 + at, isDark);
    }
  }
  set(size - 8, 8, true);
}

/** The modules in the order of the bits: pairs of columns from the right, upwards and downwards in turn. */
function* zigzag(size: number): Generator<readonly [number, number]> {
  let isUp = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step++) {
      const row = isUp ? size - 1 - step : step;
      yield [row, right];
      yield [row, right - 1];
    }
    isUp = !isUp;
  }
}

/** Lower is easier to scan: few runs, squares of one colour and false finders, and as many dark modules as light ones. */
function penaltyOf(code: readonly (readonly boolean[])[]): number {
  const columns = code.map((_, at) => code.map((row) => row[at] === true));
  let penalty = 0;
  for (const line of [...code, ...columns]) {
    const text = line.map(Number).join('');
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) penalty += run.length - 2;
    for (const pattern of ['10111010000', '00001011101']) penalty += 40 * (text.split(pattern).length - 1);
  }
  for (const [row, line] of code.entries()) {
    const below = code[row + 1];
    for (const [at, module] of line.entries()) {
      const square = [line[at + 1], below?.[at], below?.[at + 1]];
      if (square.every((each) => each === module)) penalty += 3;
    }
  }
  const dark = code.flat().filter(Boolean).length / code.length ** 2;
  return penalty + 10 * Math.floor(Math.abs(dark - 0.5) * 20);
}
