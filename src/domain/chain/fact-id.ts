/** The content of a log without its position. `n` counts the equal logs of one transaction, from 0. */
export type LogContent = {
  readonly networkId: number;
  readonly transactionHash: string;
  readonly contract: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly n: number;
};

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const PREFIX = 'fct_';
/** 130 bits: two facts never share an id by chance. */
const LENGTH = 26;
/** Also matches facts that were made from a posted event instead of a log. */
const SHAPE = /^fct_[a-z0-9]{26}$/;

const digest = new Uint8Array(32);
const codes: number[] = new Array(LENGTH).fill(0);

/**
 * The same log has the same id in any block. The id does not depend on the block and the log index, because a
 * transaction that a reorg moves is the same payment. Every text is in lower case.
 */
export function factId({ networkId, transactionHash, contract, topics, data, n }: LogContent): string {
  // The text has the number of topics, and no part has a space, so different contents never give the same text.
  Bun.SHA256.hash(
    `${networkId} ${transactionHash} ${contract} ${topics.length} ${topics.join(' ')} ${data} ${n}`,
    digest,
  );
  for (let n = 0; n < LENGTH; n++) {
    const bit = n * 5;
    const at = bit >> 3;
    const pair = ((digest[at] ?? 0) << 8) | (digest[at + 1] ?? 0);
    codes[n] = ALPHABET.charCodeAt((pair >> (11 - (bit & 7))) & 31);
  }
  return PREFIX + String.fromCharCode(...codes);
}

export function isFactId(text: string): boolean {
  return SHAPE.test(text);
}
