/** The part of a parameter that decoding needs. */
export type AbiParameter = {
  readonly type: string;
  readonly name: string;
  readonly components?: readonly AbiParameter[];
};

/** Payers pay again, and a token is in every log. */
const MAX_KNOWN_ADDRESSES = 20_000;

type Hex = `0x${string}`;

/** The functions of viem that Paybell uses. Its parser of ABI texts is not used: it keeps every parameter that it has ever seen. */
export type AbiLibrary = {
  /** Throws if the data is too short, or does not match the parameters. */
  readonly decodeParameters: (parameters: readonly AbiParameter[], data: string) => readonly unknown[];
  /** The hash of the text's bytes. */
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
  const { checksumAddress } = await import('./checksum-address.ts');
  const known = new Map<string, string>();
  return {
    decodeParameters: (parameters, data) => decodeAbiParameters(parameters, data as Hex),
    keccak256: (text) => keccak256(stringToBytes(text)),
    checksumAddress: (address) => {
      const lower = address.toLowerCase();
      const remembered = known.get(lower);
      if (remembered !== undefined) return remembered;
      // Emptied as a whole: to drop the oldest one for each new one takes as long as the hash.
      if (known.size >= MAX_KNOWN_ADDRESSES) known.clear();
      const checksummed = checksumAddress(lower);
      known.set(lower, checksummed);
      return checksummed;
    },
  };
}
