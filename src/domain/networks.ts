/** A network id is any integer that a JSON number represents exactly. */
export const MAX_NETWORK_ID = Number.MAX_SAFE_INTEGER;

/** The networks of a registration that names none, unless the setting `NETWORKS` overrides them. */
export const DEFAULT_NETWORKS = [1, 10, 56, 137, 900, 8453, 42161, 42220] as const;

const NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'Ethereum'],
  [10, 'OP Mainnet'],
  [56, 'BNB Smart Chain'],
  [137, 'Polygon'],
  [900, 'Solana'],
  [901, 'Solana Devnet'],
  [8453, 'Base'],
  [42161, 'Arbitrum One'],
  [42220, 'Celo'],
]);

export function networkName(networkId: number): string {
  return NAMES.get(networkId) ?? `Network ${networkId}`;
}
