import type { SourcePreview, SourceRecentEvents } from '../contract/chain/sources.ts';
import type { SourceDefinition } from '../domain/chain/source-definition.ts';
import type { FollowedSource } from '../store/chain/network-store.ts';
import type { PreparedSource } from '../store/chain/sources/sources.ts';
import type { Decoder } from './evm/decode/decoder.ts';
import type { ChainReader } from './follow/reader.ts';
import type { Dialect } from './rpc/dialect.ts';
import type { Exchange } from './rpc/http-exchange.ts';
import type { Identity } from './rpc/node.ts';

/** The code that differs between the families of networks. */
export type Family = {
  readonly identity: (networkId: number) => Identity;
  readonly dialect: Dialect;
  /** A node in this process that simulates a practice network. */
  readonly practiceExchange: (networkId: number) => Exchange;
  /** The least time from one poll to the next, if the operator sets none; null for none. */
  readonly pollMs: number | null;
  /** A reader for one follower. */
  readonly newReader: (parts: ReaderParts) => ChainReader;
  /** Answers the API's questions about sources; absent for networks whose contracts write logs. */
  readonly newTools?: (parts: ToolParts) => FamilyTools;
};

/** The questions of the API about the sources of a network. */
export type FamilyTools = {
  prepareSource(definition: SourceDefinition): Promise<PreparedSource>;
  preview(
    networkId: number,
    wanted: SourceDefinition | readonly FollowedSource[],
    transactionHash: string,
  ): Promise<SourcePreview>;
  previewRecent(definition: SourceDefinition): Promise<SourceRecentEvents>;
};

export type ToolParts = {
  /** Sends a call to the first node of a network that takes it. */
  readonly call: (networkId: number, method: string, params: readonly unknown[]) => Promise<unknown>;
  /** Whether this is a practice network, which pays only the accounts that calls name. */
  readonly isPractice?: boolean;
};

export type ReaderParts = {
  /** Turns logs into payments. Only EVM networks and Tron have logs. */
  readonly decoder: Decoder;
  /** Whether this is a practice network, which pays only the addresses that calls name. */
  readonly isPractice?: boolean;
};
