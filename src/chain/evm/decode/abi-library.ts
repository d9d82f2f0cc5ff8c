/** The part of a parameter that decoding needs. */
export type AbiParameter = {
  readonly type: string;
  readonly name: string;
  readonly components?: readonly AbiParameter[];
};

/** Most lookups find their address: payers pay again, and every log has the token. */
const MAX_KNOWN_ADDRESSES = 20_000;

type Hex = `0x${string}`;

/**
 * The functions of viem that Paybell uses. Paybell does not use viem's parser of ABI texts, because that parser never
 * forgets a parameter.
 */
export type AbiLibrary = {
  /** Throws if the data is too short, or does not match the parameters. */
  readonly decodeParameters: (parameters: readonly AbiParameter[], data: string) => readonly unknown[];
  /** The hash of the text's bytes. */
  readonly keccak256: (text: string) => string;
  /** An address with the capital letters of EIP-55. */
  readonly checksumAddress: (address: string) => string;
};

let loading: Promise<AbiLibrary> | null = null;

/**
 * Loads viem on first use, because its import takes 0.2 s and 22 MB. A service that follows no network does not need
 * it.
 */
export function loadAbiLibrary(): Promise<AbiLibrary> {
  loading ??= load();
  return loading;
}

async function load(): Promise<AbiLibrary> {
  const { decodeAbiParameters, keccak256, stringToBytes } = await import('viem/utils');
  const { checksumAddress } = await import('./checksum-address.ts');
  const known = new Map<string, string>();
  return {
    decodeParameters: (parameters, data) => decodeAbiParameters(parameters, data as Hex),
    keccak256: (text) => keccak256(stringToBytes(text)),
    checksumAddress: (address) => {
      const lower = address.toLowerCase();
      const remembered = known.get(lower);
      if (remembered !== undefined) return remembered;
      // Empties the whole map, because removing the oldest address for each new one takes as long as the hash.
      if (known.size >= MAX_KNOWN_ADDRESSES) known.clear();
      const checksummed = checksumAddress(lower);
      known.set(lower, checksummed);
      return checksummed;
    },
  };
}
