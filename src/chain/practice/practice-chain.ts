import { PRACTICE_ADDRESS, PRACTICE_MARK, PRACTICE_TOKEN } from '../../domain/chain/practice.ts';

/**
 * The blocks and payments of the practice network, computed only from the time. Every process has the same chain, even
 * after a restart, and nothing is stored. Every address that a request for logs names is paid:
 *
 * | blocks                    | hold                                                                              |
 * |---------------------------|-----------------------------------------------------------------------------------|
 * | every tenth               | a payment to each address                                                         |
 * | 5, 105, 205 …             | a payment to each address that a reorg removes when the chain is three blocks longer |
 */

/** 1 January 2026. */
const START_S = 1_767_225_600;
const BLOCK_S = 2;
const PAID_BLOCKS = 10;
const UNDONE_BLOCKS = 100;
const UNDONE_AT = 5;
const UNDONE_DEPTH = 3;
/** Half an hour. */
const KEPT_BLOCKS = 900;
export const SAFE_DEPTH = 2;
export const FINAL_DEPTH = 6;

/** In the smallest unit of a token with six decimals. */
const AMOUNTS = [25_000_000n, 9_990_000n, 120_500_000n, 4_000_000n, 49_900_000n] as const;
const UNDONE_AMOUNT = 13_000_000n;

const PAYER = `0x${PRACTICE_MARK}${'0'.repeat(14)}7061796572`;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export type LogRequest = {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly contracts: readonly string[];
  /** For each topic the values that are wanted; null for any. */
  readonly topics: readonly (readonly string[] | null)[];
};

export class PracticeChain {
  constructor(readonly head: number) {}

  static at(dateMs: number): PracticeChain {
    return new PracticeChain(Math.max(0, Math.floor((dateMs / 1_000 - START_S) / BLOCK_S)));
  }

  /** Null for a future block. */
  block(number: number): object | null {
    if (number < 0 || number > this.head) return null;
    return {
      number: quantity(number),
      hash: this.hashOf(number),
      parentHash: number === 0 ? `0x${'0'.repeat(64)}` : this.hashOf(number - 1),
      timestamp: quantity(START_S + BLOCK_S * number),
      // Empty, because the chain pays every address that a request names: no list could be complete.
      transactions: [],
    };
  }

  /** The number of the block with this hash; null if the chain does not have the block, or no longer. */
  numberOf(hash: string): number | null {
    const number = Number(`0x${hash.slice(-16)}`);
    return number <= this.head && this.hashOf(number) === hash.toLowerCase() ? number : null;
  }

  hashOf(number: number): string {
    const branch = this.#isUndone(number) ? '0a' : '0b';
    return `0x${PRACTICE_MARK}${branch.padStart(32, '0')}${number.toString(16).padStart(16, '0')}`;
  }

  /** The largest number of logs that a request can return. Does not make the logs. */
  countLogs({ fromBlock, toBlock, topics }: LogRequest): number {
    const blocks = toBlock - fromBlock + 1;
    const paid = Math.ceil(blocks / PAID_BLOCKS) + Math.ceil(blocks / UNDONE_BLOCKS);
    return paid * receiversIn(topics).length;
  }

  logs({ fromBlock, toBlock, contracts, topics }: LogRequest): object[] {
    if (!contracts.includes(PRACTICE_TOKEN) || !isWanted(topics[0], TRANSFER)) return [];
    if (!isWanted(topics[1], wordOf(PAYER))) return [];
    const receivers = receiversIn(topics);
    const logs: object[] = [];
    for (let number = Math.max(this.#oldest, fromBlock); number <= Math.min(toBlock, this.head); number++) {
      if (this.#amountIn(number) !== null) logs.push(...receivers.map((receiver) => this.#log(number, receiver)));
    }
    return logs;
  }

  /**
   * The first block whose logs the chain still has. Without this limit, a service that starts after a weekend would
   * deliver thousands of payments. The block changes only every half hour, so that two readings of a range rarely
   * differ. Receipts have no limit.
   */
  get #oldest(): number {
    return Math.max(0, (Math.floor(this.head / KEPT_BLOCKS) - 1) * KEPT_BLOCKS);
  }

  /** Null for a transaction that the chain does not have, or no longer. */
  receipt(transactionHash: string): object | null {
    const [, receiver, digits] = TRANSACTION.exec(transactionHash.toLowerCase()) ?? [];
    const number = Number.parseInt(digits ?? '', 16);
    if (receiver === undefined || number > this.head || this.#amountIn(number) === null) return null;
    return {
      transactionHash: transactionHash.toLowerCase(),
      blockNumber: quantity(number),
      blockHash: this.hashOf(number),
      status: '0x1',
      logs: [this.#log(number, `0x${receiver}`)],
    };
  }

  #log(number: number, receiver: string): object {
    return {
      address: PRACTICE_TOKEN,
      topics: [TRANSFER, wordOf(PAYER), wordOf(receiver)],
      data: wordOf(`0x${(this.#amountIn(number) ?? 0n).toString(16)}`),
      blockNumber: quantity(number),
      blockHash: this.hashOf(number),
      blockTimestamp: quantity(START_S + BLOCK_S * number),
      transactionHash: `0x${PRACTICE_MARK}${receiver.slice(2)}${number.toString(16).padStart(8, '0')}`,
      // Depends only on the receiver, so that it is the same in every response.
      logIndex: quantity(Number.parseInt(receiver.slice(-7), 16)),
    };
  }

  /** Null for a block without payments. */
  #amountIn(number: number): bigint | null {
    if (number % PAID_BLOCKS === 0) return AMOUNTS[(number / PAID_BLOCKS) % AMOUNTS.length] ?? null;
    return number % UNDONE_BLOCKS === UNDONE_AT && this.#isUndone(number) ? UNDONE_AMOUNT : null;
  }

  /** Whether the block is on a branch that a coming reorg replaces. */
  #isUndone(number: number): boolean {
    const first = number - (number % UNDONE_BLOCKS) + UNDONE_AT;
    return number >= first && number < first + UNDONE_DEPTH && this.head < first + UNDONE_DEPTH;
  }
}

const TRANSACTION = new RegExp(`^0x${PRACTICE_MARK}([0-9a-f]{40})([0-9a-f]{8})$`);

/** The receivers that a request names. Without such a list, the shop of the examples is the only receiver. */
function receiversIn(topics: LogRequest['topics']): string[] {
  const wanted = topics[2] ?? [wordOf(PRACTICE_ADDRESS)];
  return wanted.map((word) => `0x${word.slice(-40).toLowerCase()}`);
}

function isWanted(wanted: readonly string[] | null | undefined, value: string): boolean {
  return wanted === null || wanted === undefined || wanted.some((each) => each.toLowerCase() === value);
}

function wordOf(hex: string): string {
  return `0x${hex.slice(2).padStart(64, '0')}`;
}

function quantity(number: number): string {
  return `0x${number.toString(16)}`;
}
