/** The part of a parameter that decoding needs. */
export type AbiParameter = {
  readonly type: string;
  readonly name: string;
  readonly components?: readonly AbiParameter[];
};

/** Payers pay again, and a token is in every log. */
const MAX_KNOWN_ADDRESSES = 20_000;

type Hex = `0x${string}`;

/** What is used of viem. Its parser of ABI texts is not: it keeps every parameter that it has ever seen. */
export type AbiLibrary = {
  /** Throws where the data is too short, or is not what the parameters say. */
  readonly decodeParameters: (parameters: readonly AbiParameter[], data: string) => readonly unknown[];
  /** Of the bytes of a text. */
  readonly keccak256: (text: string) => string;
  /** An address with the capital letters of EIP-55. */
  readonly checksumAddress: (address: string) => string;
};

let loading: Promise<AbiLibrary> | null = null;

/** Loaded on first use: the import takes 0.2 s and 22 MB, which a service that follows no network does not pay. */
export function loadAbiLibrary(): Promise<AbiLibrary> {
  loading ??= load();
  return loading;
}

async function load(): Promise<AbiLibrary> {
  const { decodeAbiParameters, keccak256, stringToBytes } = await import('viem/utils');
  const hash = (text: string) => keccak256(stringToBytes(text));
  const known = new Map<string, string>();
  return {
    decodeParameters: (parameters, data) => decodeAbiParameters(parameters, data as Hex),
    keccak256: hash,
    checksumAddress: (address) => {
      const lower = address.toLowerCase();
      const remembered = known.get(lower);
      if (remembered !== undefined) return remembered;
      // Emptied as a whole: to drop the oldest one for each new one takes as long as the hash.
      if (known.size >= MAX_KNOWN_ADDRESSES) known.clear();
      const checksummed = withChecksum(lower, hash);
      known.set(lower, checksummed);
      return checksummed;
    },
  };
}

/** EIP-55: a letter is a capital where the digit of the hash at its place is 8 or more. A third of the time of viem's own. */
function withChecksum(lower: string, hash: (text: string) => string): string {
  const digits = hash(lower.slice(2)).slice(2);
  let address = '0x';
  for (let at = 0; at < 40; at++) {
    const character = lower.charAt(at + 2);
    address += digits.charCodeAt(at) >= EIGHT ? character.toUpperCase() : character;
  }
  return address;
}

/** In ASCII the letters come after the digits, so 8, 9 and a to f are from here on. */
const EIGHT = '8'.charCodeAt(0);
