import type { SourcePreview } from '../contract/chain/sources.ts';
import type { SourceDefinition } from '../domain/chain/source-definition.ts';
import type { FollowedSource } from '../store/chain/network-store.ts';
import type { PreparedSource } from '../store/chain/sources/sources.ts';

/** What the API can ask of the networks that this process has nodes of. Everything that is wrong is thrown as a problem. */
export type ChainTools = {
  /** Checks a definition against the network, and says where the network stands. */
  prepareSource(definition: SourceDefinition): Promise<PreparedSource>;
  /** What would be made of a transaction, by a definition that is not stored or by the given sources. */
  preview(
    networkId: number,
    wanted: SourceDefinition | readonly FollowedSource[],
    transactionHash: string,
  ): Promise<SourcePreview>;
};
