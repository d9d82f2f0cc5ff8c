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

const EXPLORERS: ReadonlyMap<number, string> = new Map([
  [1, 'https://etherscan.io'],
  [10, 'https://optimistic.etherscan.io'],
  [56, 'https://bscscan.com'],
  [137, 'https://polygonscan.com'],
  [8453, 'https://basescan.org'],
  [42161, 'https://arbiscan.io'],
  [42220, 'https://celoscan.io'],
]);

/** The page of a transaction in a public explorer; null for networks without a known one. */
export function explorerUrl(networkId: number, transactionHash: string): string | null {
  const explorer = EXPLORERS.get(networkId);
  return explorer === undefined ? null : `${explorer}/tx/${encodeURIComponent(transactionHash)}`;
}
