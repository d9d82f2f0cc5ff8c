import { notFollowed } from '../contract/chain/network-problems.ts';
import type { SourcePreview, SourceRecentEvents } from '../contract/chain/sources.ts';
import { invalidRequest } from '../contract/problems.ts';
import type { Parsed } from '../domain/chain/families/family-rules.ts';
import type { SourceDefinition } from '../domain/chain/source-definition.ts';
import type { FollowedSource } from '../store/chain/network-store.ts';
import type { PreparedSource } from '../store/chain/sources/sources.ts';
import type { InvoiceTools } from './evm/invoice-tools.ts';
import type { SourceTools } from './evm/source-tools.ts';
import type { FamilyTools } from './family.ts';

/** Sends each question of the API to the family of its network. */
export class NetworkTools {
  constructor(
    /** For networks whose contracts write logs. */
    private readonly logs: SourceTools,
    /** By network, for families with their own tools. */
    private readonly others: ReadonlyMap<number, FamilyTools>,
    private readonly networkIds: readonly number[],
  ) {}

  async prepareSource(definition: SourceDefinition): Promise<PreparedSource> {
    return this.#of(definition.networkId).prepareSource(definition);
  }

  async preview(
    networkId: number,
    wanted: SourceDefinition | readonly FollowedSource[],
    transactionHash: string,
  ): Promise<SourcePreview> {
    return this.#of(networkId).preview(networkId, wanted, transactionHash);
  }

  async previewRecent(definition: SourceDefinition): Promise<SourceRecentEvents> {
    return this.#of(definition.networkId).previewRecent(definition);
  }

  async parseAddresses(networkId: number, texts: readonly string[]): Promise<readonly Parsed[]> {
    this.#requireLogs(networkId, 'address books');
    return this.logs.parseAddresses(networkId, texts);
  }

  invoicesOf(networkId: number): InvoiceTools {
    this.#requireLogs(networkId, 'invoices');
    return this.logs.invoicesOf(networkId);
  }

  #of(networkId: number): FamilyTools {
    if (!this.networkIds.includes(networkId)) throw notFollowed(networkId);
    return this.others.get(networkId) ?? this.logs;
  }

  #requireLogs(networkId: number, subject: string): void {
    this.#of(networkId);
    if (!this.others.has(networkId)) return;
    const message = `is Solana, where Paybell does not support ${subject} yet`;
    throw invalidRequest([{ in: 'body', name: 'networkId', message }]);
  }
}
