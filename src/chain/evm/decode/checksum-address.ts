import { keccakModule, ROUND_CONSTANTS } from './keccak-module.ts';

/**
 * The capital letters of EIP-55: a letter of an address is a capital if the digit of the Keccak-256 hash at its place is 8 or more.
 * A backfill needs it for every payer.
 */

const DIGITS = 40;
/** The block that Keccak-256 absorbs, whose last byte ends the padding. */
const BLOCK_BYTES = 136;
const STATE_BYTES = 200;

const { exports } = new WebAssembly.Instance(keccakModule());
const permute = exports.permute as () => void;
const { buffer } = exports.memory as WebAssembly.Memory;
const state = new Uint8Array(buffer, 0, STATE_BYTES);
new BigUint64Array(buffer, STATE_BYTES, ROUND_CONSTANTS.length).set(ROUND_CONSTANTS);

/** Takes an address in lower case. */
export function checksumAddress(lower: string): string {
  state.fill(0);
  for (let at = 0; at < DIGITS; at++) state[at] = lower.charCodeAt(at + 2);
  state[DIGITS] = 0x01;
  state[BLOCK_BYTES - 1] = 0x80;
  permute();
  let address = '0x';
  for (let at = 0; at < DIGITS; at++) {
    const byte = state[at >> 1] ?? 0;
    const digit = at % 2 === 0 ? byte >> 4 : byte & 15;
    const character = lower.charAt(at + 2);
    address += digit >= 8 ? character.toUpperCase() : character;
  }
  return address;
}
