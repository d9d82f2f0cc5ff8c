import { keccakModule, ROUND_CONSTANTS } from './keccak-module.ts';

/**
 * The capital letters of EIP-55: a letter of an address is a capital if the hex digit at its place in the Keccak-256
 * hash is 8 or more. A backfill computes them for every payer.
 */

const DIGITS = 40;
/** Size of the block that Keccak-256 absorbs. Its last byte ends the padding. */
const BLOCK_BYTES = 136;
const STATE_BYTES = 200;
const FIRST_LETTER = 0x61;
/** Mask that turns a small letter into its capital. */
const CAPITAL = 0xdf;

const { exports } = new WebAssembly.Instance(keccakModule());
const permute = exports.permute as () => void;
const { buffer } = exports.memory as WebAssembly.Memory;
const state = new Uint8Array(buffer, 0, STATE_BYTES);
new BigUint64Array(buffer, STATE_BYTES, ROUND_CONSTANTS.length).set(ROUND_CONSTANTS);

const written = Buffer.from('0x'.padEnd(DIGITS + 2), 'latin1');

/** Takes an address in lower case. */
export function checksumAddress(lower: string): string {
  state.fill(0);
  for (let at = 0; at < DIGITS; at++) state[at] = lower.charCodeAt(at + 2);
  state[DIGITS] = 0x01;
  state[BLOCK_BYTES - 1] = 0x80;
  permute();
  for (let at = 0; at < DIGITS; at++) {
    const code = lower.charCodeAt(at + 2);
    const isRaised = (((state[at >> 1] ?? 0) >> (at % 2 === 0 ? 7 : 3)) & 1) === 1;
    written[at + 2] = isRaised && code >= FIRST_LETTER ? code & CAPITAL : code;
  }
  return written.toString('latin1');
}
