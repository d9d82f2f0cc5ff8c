import { decodeBase58, encodeBase58 } from './base58.ts';
import { type FamilyRules, type Parsed, sameText } from './family-rules.ts';

/**
 * Tron shows an address in base58 with a checksum, and its JSON-RPC takes and returns the 20 bytes in hex. The stored form is
 * the form of logs: 0x and 40 hex digits.
 */

/** The first byte of every address, which makes the T of its text. */
const PREFIX = 0x41;
const ADDRESS_BYTES = 21;
const CHECKSUM_BYTES = 4;
const TEXT = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;
/** The 20 bytes, with 0x as in JSON-RPC or with 41 as in the HTTP API. */
const HEX = /^(?:0x(?:41)?|41)([0-9a-f]{40})$/i;
const TRANSACTION = /^(?:0x)?([0-9a-f]{64})$/i;
const ADDRESS_RULE = 'must be an address: T and 33 letters and digits, or 0x and 40 hex digits';

function checksumOf(bytes: Uint8Array): Uint8Array {
  return sha256(sha256(bytes)).subarray(0, CHECKSUM_BYTES);
}

function sha256(bytes: Uint8Array): Uint8Array {
  const digest = new Uint8Array(32);
  Bun.SHA256.hash(bytes, digest);
  return digest;
}

/** The 20 bytes in hex; null for a text that is not an address, or whose checksum does not match. */
export function hexOfTronAddress(text: string): string | null {
  const bytes = TEXT.test(text) ? decodeBase58(text) : null;
  if (bytes?.length !== ADDRESS_BYTES + CHECKSUM_BYTES || bytes[0] !== PREFIX) return null;
  const address = bytes.subarray(0, ADDRESS_BYTES);
  const isRight = checksumOf(address).every((byte, at) => byte === bytes[ADDRESS_BYTES + at]);
  return isRight ? `0x${address.subarray(1).toHex()}` : null;
}

/** Takes 0x and 40 hex digits. Any other text stays as it is. */
export function showTronAddress(stored: string): string {
  const digits = HEX.exec(stored)?.[1];
  if (digits === undefined) return stored;
  const bytes = new Uint8Array(ADDRESS_BYTES + CHECKSUM_BYTES);
  bytes[0] = PREFIX;
  bytes.set(Uint8Array.fromHex(digits), 1);
  bytes.set(checksumOf(bytes.subarray(0, ADDRESS_BYTES)), ADDRESS_BYTES);
  return encodeBase58(bytes);
}

function parseAddress(text: string): Parsed {
  const digits = HEX.exec(text)?.[1];
  if (digits !== undefined) return { value: `0x${digits.toLowerCase()}` };
  if (!TEXT.test(text)) return { error: ADDRESS_RULE };
  const hex = hexOfTronAddress(text);
  return hex === null ? { error: 'the checksum does not match; check for a typing error' } : { value: hex };
}

function parseTransactionId(text: string): Parsed {
  const digits = TRANSACTION.exec(text)?.[1];
  if (digits === undefined) return { error: 'must be a transaction hash: 64 hex digits, with 0x or without it' };
  return { value: `0x${digits.toLowerCase()}` };
}

export const TRON: FamilyRules = {
  id: 'tron',
  unit: 'block',
  caip2: (networkId) => `tron:0x${networkId.toString(16)}`,
  addresses: { parse: parseAddress, show: showTronAddress, hasForm: (text) => TEXT.test(text) || HEX.test(text) },
  transactionIds: { parse: parseTransactionId, show: sameText, hasForm: (text) => TRANSACTION.test(text) },
  presets: ['trc20', 'erc20'],
};
