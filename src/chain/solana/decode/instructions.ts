import { decodeBase58 } from '../../../domain/chain/families/base58.ts';

/**
 * An instruction of a transaction. Instructions give a payment its memo and its references, but never decide whether it
 * happened, or its amount.
 */
export type Instruction = {
  readonly program: string;
  readonly accounts: readonly string[];
  /** In base58. */
  readonly data: string;
};

export const TOKEN_PROGRAMS: ReadonlySet<string> = new Set([
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
]);
const MEMO_PROGRAMS: ReadonlySet<string> = new Set([
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
]);
const SYSTEM_PROGRAM = '11111111111111111111111111111111';

/** Two are enough, because Paybell uses a memo only if it is the only one. */
const MAX_MEMOS = 2;
const MAX_REFERENCES = 16;
/** A transaction has at most 1,232 bytes, and base58 makes 1.37 digits of a byte. */
const MAX_DATA_LENGTH = 1_700;

/** The texts of memo instructions, at most two. Bytes that are not UTF-8 are not a text. */
export function memosOf(instructions: readonly Instruction[]): string[] {
  const memos = instructions.filter(({ program }) => MEMO_PROGRAMS.has(program)).slice(0, MAX_MEMOS);
  const texts = memos.map(({ data }) => textOf(data));
  return texts.every((text) => text !== null) ? texts : [];
}

function textOf(data: string): string | null {
  const bytes = bytesOf(data);
  try {
    return bytes === null ? null : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function bytesOf(data: string): Uint8Array | null {
  return data.length > MAX_DATA_LENGTH ? null : decodeBase58(data);
}

/** Extra accounts of a transfer that do not sign. Solana Pay adds them as references. */
export function referencesOf(instructions: readonly Instruction[], signers: ReadonlySet<string>): string[] {
  const references = new Set<string>();
  for (const instruction of instructions) {
    const needed = neededAccounts(instruction);
    if (needed === null) continue;
    for (const key of instruction.accounts.slice(needed)) if (!signers.has(key)) references.add(key);
  }
  return [...references].slice(0, MAX_REFERENCES);
}

/** How many accounts a transfer needs; null for any other instruction. */
function neededAccounts({ program, data, accounts }: Instruction): number | null {
  if (program !== SYSTEM_PROGRAM && !TOKEN_PROGRAMS.has(program)) return null;
  // No transfer needs fewer than two accounts, so this one has no extra account, and its data need not be read.
  if (accounts.length <= 2) return null;
  const [first, second] = bytesOf(data) ?? [];
  if (program === SYSTEM_PROGRAM) return first === 2 ? 2 : null;
  if (first === 3) return 3;
  return first === 12 || (first === 26 && second === 1) ? 4 : null;
}
