/** The error correction of a QR code: polynomials over the field of 256 elements. */

const ELEMENTS = 255;
const EXPONENTS = new Uint8Array(ELEMENTS * 2);
const LOGARITHMS = new Uint8Array(ELEMENTS + 1);

for (let power = 0, value = 1; power < ELEMENTS; power++) {
  EXPONENTS[power] = value;
  EXPONENTS[power + ELEMENTS] = value;
  LOGARITHMS[value] = power;
  value <<= 1;
  if (value > ELEMENTS) value ^= 0x11d;
}

function multiply(a: number, b: number): number {
  if (a === 0 || b === 0) return 0;
  return EXPONENTS[(LOGARITHMS[a] ?? 0) + (LOGARITHMS[b] ?? 0)] ?? 0;
}

/** The coefficients of the generator without the first, which is 1. */
function generator(degree: number): number[] {
  let result = [1];
  for (let power = 0; power < degree; power++) {
    const shifted = [...result, 0];
    result = shifted.map((value, at) => value ^ multiply(result[at - 1] ?? 0, EXPONENTS[power] ?? 0));
  }
  return result.slice(1);
}

/** The codewords that correct errors in these. */
export function correctionOf(data: readonly number[], count: number): number[] {
  const divisor = generator(count);
  let rest: number[] = new Array(count).fill(0);
  for (const value of data) {
    const factor = value ^ (rest[0] ?? 0);
    rest = [...rest.slice(1), 0].map((each, at) => each ^ multiply(divisor[at] ?? 0, factor));
  }
  return rest;
}
