/**
 * The practice network needs no node, because Paybell simulates its blocks and payments. No EVM network has the id 0,
 * so nothing can mistake a practice payment for a real one.
 */
export const PRACTICE_NETWORK = 0;

/** The entry of `CHAIN_RPC` that turns practice mode on. */
export const PRACTICE = 'practice';

/** Stands in place of a URL in the list of nodes. No other node can have it, because real URLs begin with http. */
export const PRACTICE_NODE = 'practice:';

/** The word `practice` in ASCII, with which every address and hash of the practice network begins. */
export const PRACTICE_MARK = '7072616374696365';

/** Ends with the letters USDC in ASCII. */
export const PRACTICE_TOKEN = `0x${PRACTICE_MARK}${'0'.repeat(16)}55534443`;

/** An address for people who have no address at hand. Any other address gets practice payments too. */
export const PRACTICE_ADDRESS = `0x${PRACTICE_MARK}${'0'.repeat(16)}73686f70`;

/** Test networks that Paybell can also simulate, so that you can try all their features without a node. */
export const PRACTICE_TEST_NETWORKS: readonly number[] = [3_448_148_188, 901];

/** Whether a network with these nodes is simulated. */
export function isMadeUp({ urls }: { readonly urls: readonly string[] }): boolean {
  return urls.includes(PRACTICE_NODE);
}

export function isPractice(networkId: number): boolean {
  return networkId === PRACTICE_NETWORK;
}
