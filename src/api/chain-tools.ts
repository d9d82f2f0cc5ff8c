import type { NewInvoice } from '../contract/chain/new-invoice.ts';
import type { SourcePreview, SourceRecentEvents } from '../contract/chain/sources.ts';
import type { Problem } from '../contract/problems.ts';
import type { Parsed } from '../domain/chain/families/family-rules.ts';
import type { SourceDefinition } from '../domain/chain/source-definition.ts';
import type { TokenReading } from '../store/chain/invoices/book.ts';
import type { PreparedInvoice } from '../store/chain/invoices/new-invoices.ts';
import type { FollowedSource } from '../store/chain/network-store.ts';
import type { PreparedSource } from '../store/chain/sources/sources.ts';

/** Questions of the API to the networks that this process has nodes for. Every error is thrown as a problem. */
export type ChainTools = {
  /** Checks a definition against the network, and returns the network's newest blocks. */
  prepareSource(definition: SourceDefinition): Promise<PreparedSource>;
  /** Shows the events that a transaction would lead to, by an unstored definition or by the given sources. */
  preview(
    networkId: number,
    wanted: SourceDefinition | readonly FollowedSource[],
    /** In its stored form. */
    transactionHash: string,
  ): Promise<SourcePreview>;
  /** The stored form of each address, or its mistake. */
  parseAddresses(networkId: number, texts: readonly string[]): Promise<readonly Parsed[]>;
  /** The tools for invoices on a network. Throws if Paybell does not follow the network. */
  invoicesOf(networkId: number): InvoiceTools;
  /** The newest events that an unstored definition would have made. */
  previewRecent(definition: SourceDefinition): Promise<SourceRecentEvents>;
};

/** Questions of invoices to their network. */
export type InvoiceTools = {
  /**
   * Returns the prepared invoice or the problem for each invoice, and how to read the logs of each token. Asks nodes
   * only about new tokens, and only inside `asking`.
   */
  prepare(
    networkId: number,
    invoices: readonly NewInvoice[],
    asking: <Value>(work: () => Promise<Value>) => Promise<Value>,
  ): Promise<{
    readonly results: readonly (PreparedInvoice | Problem)[];
    readonly readings: ReadonlyMap<string, TokenReading>;
  }>;
  /** The newest block of a node. */
  readHead(networkId: number): Promise<number>;
  /** The balance of an address now, in the smallest unit; null if the node returns no balance. */
  readBalance(networkId: number, token: string, address: string): Promise<bigint | null>;
};
