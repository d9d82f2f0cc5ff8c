import type { Preset } from '../source-definition.ts';

/**
 * A family of networks has the same addresses, transaction ids, calls and finality. A network belongs to it by its id.
 *
 * | family   | networks                                   | read by                                    |
 * |----------|--------------------------------------------|--------------------------------------------|
 * | `evm`    | every network without another family       | logs of contracts                          |
 * | `tron`   | Tron, Nile and Shasta                      | logs of contracts, in Ethereum's JSON-RPC  |
 * | `solana` | 900 and 901                                | balances of accounts                       |
 */
export type FamilyId = 'evm' | 'tron' | 'solana';

/** The stored form of a text, or an error that names the fix. */
export type Parsed = { readonly value: string } | { readonly error: string };

/** One kind of text on a network. Each value has a stored form for comparisons, and a form that people see. */
export type TextForm = {
  readonly parse: (text: string) => Parsed;
  readonly show: (stored: string) => string;
  /** Whether a text is complete. Does not compare checksums, so that a page can check while someone types. */
  readonly hasForm: (text: string) => boolean;
};

export type FamilyRules = {
  readonly id: FamilyId;
  /** The unit of heights, and of confirmations. */
  readonly unit: 'block' | 'slot';
  /** The name of a network by CAIP-2. */
  readonly caip2: (networkId: number) => string;
  readonly addresses: TextForm;
  readonly transactionIds: TextForm;
  /** The presets of its networks. The first reads transfers of any token. */
  readonly presets: readonly Preset[];
};

export const sameText = (stored: string): string => stored;
