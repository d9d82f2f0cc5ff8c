import { decodeBase58, encodeBase58 } from '../../../domain/chain/families/base58.ts';

/** The token account of a wallet that payers derive from the wallet, the token and the token's program. */

const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
const MARKER = new TextEncoder().encode('ProgramDerivedAddress');
const MAX_BUMP = 255;

/** All three are addresses in base58. Takes under a millisecond. */
export function associatedAccount(wallet: string, mint: string, tokenProgram: string): string {
  const seeds = [wallet, tokenProgram, mint].map(bytesOf);
  const program = bytesOf(ASSOCIATED_TOKEN_PROGRAM);
  const digest = new Uint8Array(32);
  // Skips addresses that a key pair could have, so that no key can sign for the account.
  for (let bump = MAX_BUMP; bump >= 0; bump--) {
    Bun.SHA256.hash(Buffer.concat([...seeds, Uint8Array.of(bump), program, MARKER]), digest);
    if (!isOnCurve(digest)) return encodeBase58(digest);
  }
  throw new Error(`the wallet ${wallet} has no associated account`);
}

function bytesOf(address: string): Uint8Array {
  const bytes = decodeBase58(address);
  if (bytes?.length !== 32) throw new Error(`${address} is not an address`);
  return bytes;
}

const P = 2n ** 255n - 19n;
const ONE = 1n;
/** The constant d of Ed25519: -121665 / 121666. */
const D = mod(-121665n * power(121666n, P - 2n));

/** Whether 32 bytes are the compressed form of a point of Ed25519: x² = (y² − 1) / (d·y² + 1) has a root. */
export function isOnCurve(bytes: Uint8Array): boolean {
  const copy = Uint8Array.from(bytes).reverse();
  const sign = (copy[0] ?? 0) >> 7;
  copy[0] = (copy[0] ?? 0) & 0x7f;
  const y = BigInt(`0x${copy.toHex()}`);
  if (y >= P) return false;
  const square = mod(y * y);
  const numerator = mod(square - ONE);
  const denominator = mod(D * square + ONE);
  const xSquare = mod(numerator * power(denominator, P - 2n));
  if (xSquare === 0n) return sign === 0;
  return power(xSquare, (P - ONE) / 2n) === ONE;
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = ONE;
  let factor = mod(base);
  for (let rest = exponent; rest > 0n; rest >>= ONE) {
    if ((rest & ONE) === ONE) result = mod(result * factor);
    factor = mod(factor * factor);
  }
  return result;
}
