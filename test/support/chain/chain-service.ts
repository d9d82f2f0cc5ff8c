import type { ChainList } from '../../../src/contract/chain/chains.ts';
import type { FactDetail, FactList } from '../../../src/contract/chain/facts.ts';
import type { Finality } from '../../../src/domain/chain/finality.ts';
import { type Client, startTestService, type TestService } from '../service.ts';
import { createTarget, type Engine } from '../stores.ts';
import { until } from '../until.ts';
import { Inbox } from './inbox.ts';

export type Settings = Readonly<Record<string, string>>;

/** A service on a store of its own that follows one network, and the receiver that it tells. */
export class ChainService implements AsyncDisposable {
  readonly inbox = new Inbox();
  readonly client: Client;

  private constructor(
    private readonly networkId: number,
    private readonly service: TestService,
    private readonly removeStore: () => void,
  ) {
    this.client = service.client();
  }

  static async start(
    engine: Engine,
    networkId: number,
    nodes: readonly string[],
    settings: Settings = {},
  ): Promise<ChainService> {
    const { url, remove } = await createTarget(engine);
    const service = await startTestService(url, {
      NETWORKS: String(networkId),
      CHAIN_RPC: nodes.map((node) => `${networkId}=${node}`).join(','),
      CHAIN_RPC_RATE: '1000',
      // The chains of tests call blocks final that are nearer to the head than those of the networks whose ids they have.
      CHAIN_MIN_DEPTH: `${networkId}=1`,
      RETRY_SCHEDULE: '0s,50ms,100ms,200ms,400ms,800ms,1600ms',
      ...settings,
    });
    return new ChainService(networkId, service, remove);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // First, because the service waits for the responses that a failed test still holds back.
    await this.inbox[Symbol.asyncDispose]();
    await this.service[Symbol.asyncDispose]();
    this.removeStore();
  }

  async call<Response>(method: string, path: string, body?: object): Promise<Response> {
    const response = await this.client.request(method, path, body === undefined ? undefined : JSON.stringify(body));
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as Response;
  }

  /** Registers a webhook that is told at a path of the inbox, and returns its id. */
  async webhook(path: string, event: string, finality?: Finality): Promise<string> {
    const options = finality === undefined ? {} : { options: { finality } };
    const body = { postUrl: this.inbox.urlOf(path), networkIds: [this.networkId], events: [event], ...options };
    const { webhooks } = await this.call<{ webhooks: { webhookId: string }[] }>('POST', '/webhooks/classic', body);
    return webhooks[0]?.webhookId ?? '';
  }

  /** From now on, unless told. */
  async source(definition: object): Promise<string> {
    const body = { networkId: this.networkId, fromBlock: 'latest', ...definition };
    return (await this.call<{ sourceId: string }>('POST', '/sources', body)).sourceId;
  }

  /** The only fact of the transaction, with its history. */
  async factOf(transactionHash: string): Promise<FactDetail> {
    const { facts } = await this.call<FactList>('GET', `/facts?transactionHash=${transactionHash}`);
    if (facts.length !== 1) throw new Error(`${transactionHash} has ${facts.length} facts`);
    return this.call<FactDetail>('GET', `/facts/${facts[0]?.factId}`);
  }

  /** Waits until the service has read the network up to this block. */
  async followedTo(block: number): Promise<void> {
    await until(`the service has followed the network to block ${block}`, async () => {
      const { chains } = await this.call<ChainList>('GET', '/chains');
      return chains.find(({ networkId }) => networkId === this.networkId)?.tip === block;
    });
  }

  /** The block that the node of this number last called final. */
  async finalizedBy(node: number): Promise<number | null> {
    const { chains } = await this.call<ChainList>('GET', '/chains');
    const chain = chains.find(({ networkId }) => networkId === this.networkId);
    return chain?.nodes.find(({ name }) => name === `${this.networkId}#${node}`)?.finalized ?? null;
  }

  /** Waits until no delivery is to come, beside those that are held. */
  async delivered(): Promise<void> {
    await until('nothing is left to deliver', async () => {
      const pages = await Promise.all(
        ['pending', 'retrying'].map((status) =>
          this.call<{ totalResults: number }>('GET', `/deliveries?status=${status}&limit=1`),
        ),
      );
      return pages.every(({ totalResults }) => totalResults === 0);
    });
  }

  /** Waits until so many deliveries are held, by a suspended webhook or a paused endpoint. */
  async held(count: number): Promise<void> {
    await until(`${count} deliveries are held`, async () => {
      const { totalResults } = await this.call<{ totalResults: number }>('GET', '/deliveries?status=held&limit=1');
      return totalResults === count;
    });
  }
}
