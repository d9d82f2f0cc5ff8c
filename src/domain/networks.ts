import { PRACTICE_NETWORK } from './chain/practice.ts';

/** A network id is any integer that a JSON number represents exactly. */
export const MAX_NETWORK_ID = Number.MAX_SAFE_INTEGER;

/** The networks of a registration that names none, unless the setting `NETWORKS` overrides them. */
export const DEFAULT_NETWORKS = [1, 10, 56, 137, 900, 8453, 42161, 42220] as const;

const NAMES: ReadonlyMap<number, string> = new Map([
  [PRACTICE_NETWORK, 'Practice network'],
  [1, 'Ethereum'],
  [10, 'OP Mainnet'],
  [56, 'BNB Smart Chain'],
  [137, 'Polygon'],
  [900, 'Solana'],
  [901, 'Solana Devnet'],
  [8453, 'Base'],
  [42161, 'Arbitrum One'],
  [42220, 'Celo'],
  [728126428, 'Tron'],
  [2494104990, 'Tron Shasta'],
  [3448148188, 'Tron Nile'],
]);

export function networkName(networkId: number): string {
  return NAMES.get(networkId) ?? `Network ${networkId}`;
}

/** The network with this name, in any case and with or without spaces and hyphens; null if none has it. */
export function networkOfName(name: string): number | null {
  const plain = (text: string) => text.toLowerCase().replace(/[\s-]/g, '');
  const found = [...NAMES].find(([, known]) => plain(known) === plain(name));
  return found?.[0] ?? null;
}

/** The things that a public explorer has a page for. */
export type ExplorerPage = 'transaction' | 'address' | 'token';

type Explorer = {
  readonly url: string;
  readonly paths: Readonly<Record<ExplorerPage, string>>;
  readonly query?: string;
};

const ETHERSCAN_PATHS = { transaction: '/tx/', address: '/address/', token: '/token/' };
const TRONSCAN_PATHS = { transaction: '/#/transaction/', address: '/#/address/', token: '/#/token20/' };
const SOLANA_PATHS = { transaction: '/tx/', address: '/address/', token: '/address/' };

const EXPLORERS: ReadonlyMap<number, Explorer> = new Map([
  [1, { url: 'https://etherscan.io', paths: ETHERSCAN_PATHS }],
  [10, { url: 'https://optimistic.etherscan.io', paths: ETHERSCAN_PATHS }],
  [56, { url: 'https://bscscan.com', paths: ETHERSCAN_PATHS }],
  [137, { url: 'https://polygonscan.com', paths: ETHERSCAN_PATHS }],
  [900, { url: 'https://explorer.solana.com', paths: SOLANA_PATHS }],
  [901, { url: 'https://explorer.solana.com', paths: SOLANA_PATHS, query: '?cluster=devnet' }],
  [8453, { url: 'https://basescan.org', paths: ETHERSCAN_PATHS }],
  [42161, { url: 'https://arbiscan.io', paths: ETHERSCAN_PATHS }],
  [42220, { url: 'https://celoscan.io', paths: ETHERSCAN_PATHS }],
  [728126428, { url: 'https://tronscan.org', paths: TRONSCAN_PATHS }],
  [2494104990, { url: 'https://shasta.tronscan.org', paths: TRONSCAN_PATHS }],
  [3448148188, { url: 'https://nile.tronscan.org', paths: TRONSCAN_PATHS }],
]);

/** The page of a transaction, a wallet or a token, by the id that the API shows; null for networks without a known explorer. */
export function explorerUrl(networkId: number, page: ExplorerPage, id: string): string | null {
  const explorer = EXPLORERS.get(networkId);
  if (explorer === undefined) return null;
  const { url, paths, query = '' } = explorer;
  // Tronscan needs the transaction hash without `0x`.
  const named = page === 'transaction' && paths === TRONSCAN_PATHS ? id.replace(/^0x/, '') : id;
  return `${url}${paths[page]}${encodeURIComponent(named)}${query}`;
}
