import type { AbiLibrary } from '../abi-library.ts';

const ADDRESS = /^0x[0-9a-f]{40}$/i;

const ADDRESS_RULE = 'must be an address: 0x and 40 hex digits';

/** What is wrong with an address, or null. Capital letters are a checksum where there are any: a wrong one is a typing error. */
export function addressError(value: unknown, { checksumAddress }: Pick<AbiLibrary, 'checksumAddress'>): string | null {
  if (typeof value !== 'string' || !ADDRESS.test(value)) return ADDRESS_RULE;
  const digits = value.slice(2);
  const hasChecksum = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  if (!hasChecksum || checksumAddress(value) === value) return null;
  return 'has a wrong checksum: its capital letters do not fit. Check each digit, or write it in lower case';
}
