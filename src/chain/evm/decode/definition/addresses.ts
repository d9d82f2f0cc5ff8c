import { NATIVE_TOKEN } from '../../../../domain/chain/coin.ts';
import { familyOf } from '../../../../domain/chain/families/families.ts';
import { showTronAddress, TRON } from '../../../../domain/chain/families/tron.ts';
import type { AbiLibrary } from '../abi-library.ts';

/** Reads and writes the addresses of a network. Its logs have them as 20 bytes in hex. */
export type LogAddresses = {
  /** Describes the mistake in an address; null if there is none. */
  readonly errorIn: (value: unknown) => string | null;
  /** The address as logs have it, in lower case. Takes what `errorIn` accepts. */
  readonly toLog: (text: string) => string;
  /** The address as people see it. Takes the form of logs. */
  readonly show: (stored: string) => string;
  /** The address as definitions keep it, so that equal definitions are equal texts. Takes the form of logs. */
  readonly write: (stored: string) => string;
  /** Whether a text is meant as an address and not as the name of a parameter. */
  readonly isMeant: (text: string) => boolean;
};

const ADDRESS = /^0x[0-9a-f]{40}$/i;
const ADDRESS_RULE = 'must be an address: 0x and 40 hex digits';
const TRON_SHAPE = /^T[0-9A-Za-z]{33}$/;

type Checksum = Pick<AbiLibrary, 'checksumAddress'>;

export function addressesOf(networkId: number, library: Checksum): LogAddresses {
  return familyOf(networkId) === 'tron' ? tronAddresses(library) : evmAddresses(library);
}

function evmAddresses(library: Checksum): LogAddresses {
  return {
    errorIn: (value) => {
      if (typeof value !== 'string' || !ADDRESS.test(value)) return ADDRESS_RULE;
      if (hasRightCapitals(value, library)) return null;
      return 'has a wrong checksum: its capital letters do not fit. Check each digit, or write it in lower case';
    },
    toLog: (text) => text.toLowerCase(),
    show: (stored) => (stored === NATIVE_TOKEN ? stored : library.checksumAddress(stored)),
    write: (stored) => stored,
    isMeant: (text) => text.startsWith('0x'),
  };
}

function tronAddresses(library: Checksum): LogAddresses {
  const { parse } = TRON.addresses;
  return {
    errorIn: (value) => {
      const parsed = parse(typeof value === 'string' ? value : '');
      if ('error' in parsed) return parsed.error;
      if (!ADDRESS.test(String(value)) || hasRightCapitals(String(value), library)) return null;
      return 'the checksum does not match; check for a typing error';
    },
    toLog: (text) => {
      const parsed = parse(text);
      return 'value' in parsed ? parsed.value : text;
    },
    show: showRemembered,
    write: showRemembered,
    isMeant: (text) => text.startsWith('0x') || TRON_SHAPE.test(text),
  };
}

/** An address with both capital and small letters has a checksum. */
function hasRightCapitals(value: string, { checksumAddress }: Checksum): boolean {
  const digits = value.slice(2);
  const hasChecksum = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  return !hasChecksum || checksumAddress(value) === value;
}

/** Most lookups find their address: payers pay again, and every log has the token. */
const MAX_SHOWN = 20_000;
const shown = new Map<string, string>();

function showRemembered(stored: string): string {
  const known = shown.get(stored);
  if (known !== undefined) return known;
  // Empties the whole map, because removing the oldest address for each new one costs more.
  if (shown.size >= MAX_SHOWN) shown.clear();
  const text = showTronAddress(stored);
  shown.set(stored, text);
  return text;
}
