import type { CanonicalPayment } from './ledger.ts';

/** A network on which payments are made and undone. */

export const MAX_DEPTH = 9;

export const DEMO_KINDS = ['evm', 'tron', 'solana'] as const;
export type DemoKind = (typeof DEMO_KINDS)[number];

export type Rules = {
  readonly networkId: number;
  readonly preset: 'erc20' | 'trc20' | 'spl';
  /** Blocks from the newest block to the one that the network calls final. */
  readonly finalBehind: number;
  readonly pollEvery: string;
};

export interface PaidNetwork {
  readonly rules: Rules;
  /** The address of the node, as an operator would configure it. */
  readonly url: string;
  readonly contract: string;
  readonly payee: string;
  /** Makes new payments over a few blocks. */
  pay(count: number): Promise<void>;
  reorganise(): Promise<void>;
  mine(blocks?: number): Promise<void>;
  /** The payments in the chain as it is now, by their transactions. */
  payments(): Promise<Map<string, CanonicalPayment>>;
  stop(): Promise<void>;
}
