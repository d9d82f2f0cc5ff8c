/**
 * The practice network needs no node: Paybell makes its blocks and payments up. No EVM network has the id 0, so that a
 * practice payment is never mistaken for a real one.
 */
export const PRACTICE_NETWORK = 0;

/** The entry of `CHAIN_RPC` that turns practice mode on. */
export const PRACTICE = 'practice';

/** The place of a URL in the list of nodes. No other node can have it, because theirs begin with http. */
export const PRACTICE_NODE = 'practice:';

/** Begins every address and hash of the practice network: the word in ASCII. */
export const PRACTICE_MARK = '7072616374696365';

/** Ends with the letters USDC in ASCII. */
export const PRACTICE_TOKEN = `0x${PRACTICE_MARK}${'0'.repeat(16)}55534443`;

/** An address for people who have none at hand. Any other address gets practice payments too. */
export const PRACTICE_ADDRESS = `0x${PRACTICE_MARK}${'0'.repeat(16)}73686f70`;

/** Test networks that Paybell can make up too, so that everything on them can be tried without a node. */
export const PRACTICE_TEST_NETWORKS: readonly number[] = [3_448_148_188, 901];

/** Whether a network is made up, by its nodes. */
export function isMadeUp({ urls }: { readonly urls: readonly string[] }): boolean {
  return urls.includes(PRACTICE_NODE);
}

export function isPractice(networkId: number): boolean {
  return networkId === PRACTICE_NETWORK;
}
