import { encodeBase58 } from '../../../domain/chain/families/base58.ts';
import type { Call } from '../../rpc/call.ts';
import { TOKEN_PROGRAMS } from '../decode/instructions.ts';
import { readList, readNumber, readObject, readText } from './values.ts';

/** The kinds of accounts that a source can name by mistake. */
export type ShownAccount =
  | { readonly kind: 'mint'; readonly program: string }
  | { readonly kind: 'token account'; readonly owner: string }
  | { readonly kind: 'other' };

export const MAX_AT_ONCE = 100;

const MINT_BYTES = 82;
const TOKEN_ACCOUNT_BYTES = 165;
/** The owner of a token account, in its data. Byte 165 has the kind of an account with extensions. */
const OWNER = { start: 32, end: 64 } as const;
const IS_MINT = 1;

/** The account of each address; null for an address without one. */
export function shownAccountsOf(addresses: readonly string[]): Call<(ShownAccount | null)[]> {
  const dataSlice = { offset: 0, length: TOKEN_ACCOUNT_BYTES + 1 };
  return {
    method: 'getMultipleAccounts',
    params: [addresses, { commitment: 'confirmed', encoding: 'base64', dataSlice }],
    read: (result) => readList(readObject(result).value, readAccount),
  };
}

function readAccount(value: unknown): ShownAccount | null {
  if (value === null) return null;
  const { owner, data, space } = readObject(value);
  const program = readText(owner);
  if (!TOKEN_PROGRAMS.has(program)) return { kind: 'other' };
  const bytes = Buffer.from(readList(data, readText)[0] ?? '', 'base64');
  const size = space === undefined ? bytes.length : readNumber(space);
  if (size === MINT_BYTES || bytes[TOKEN_ACCOUNT_BYTES] === IS_MINT) return { kind: 'mint', program };
  if (size < TOKEN_ACCOUNT_BYTES) return { kind: 'other' };
  return { kind: 'token account', owner: encodeBase58(bytes.subarray(OWNER.start, OWNER.end)) };
}
