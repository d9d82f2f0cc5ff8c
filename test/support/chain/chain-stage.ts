import type { Engine } from '../stores.ts';
import { ChainService, type Settings } from './chain-service.ts';
import type { DeployedContract } from './deployed-contract.ts';
import { EdrChain } from './edr-chain.ts';
import { type Behaviour, RpcProxy } from './rpc-proxy.ts';

const NETWORK_ID = 8453;

type Options = {
  readonly settings?: Settings;
  readonly node?: Partial<Behaviour>;
  readonly accounts?: number;
  /** Nodes of the same chain. One node alone has to call a block final at two heads. */
  readonly nodeCount?: number;
};

/** A real EVM with a token, and a service that follows it: all of it in this process. */
export class ChainStage implements AsyncDisposable {
  private constructor(
    readonly chain: EdrChain,
    readonly node: RpcProxy,
    readonly token: DeployedContract,
    readonly service: ChainService,
    private readonly others: readonly RpcProxy[],
  ) {}

  static async start(engine: Engine, options: Options = {}): Promise<ChainStage> {
    const { settings = {}, node = {}, accounts = 20, nodeCount = 1 } = options;
    const chain = await EdrChain.start({ chainId: NETWORK_ID, accounts });
    const token = await chain.deploy('Token', 'uint8', [6]);
    // Deeper than any fork of the tests, so that the contract is there on every branch.
    await chain.mine(20);
    const proxy = new RpcProxy(chain.rpc, node);
    const others = Array.from({ length: nodeCount - 1 }, () => new RpcProxy(chain.rpc, node));
    const urls = [proxy, ...others].map(({ url }) => url);
    const service = await ChainService.start(engine, NETWORK_ID, urls, settings);
    return new ChainStage(chain, proxy, token, service, others);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    for (const node of [this.node, ...this.others]) await node[Symbol.asyncDispose]();
  }

  get inbox() {
    return this.service.inbox;
  }

  get payee(): string {
    return this.chain.account(1);
  }

  /** The payments of the token to the payee, as a source. */
  get payments(): object {
    return { preset: 'erc20', contract: this.token.address, where: { to: [this.payee] } };
  }

  /** Gives a payment to the next block. Each account pays once, so that dropping a payment stops no other. */
  pay(from: number, value: bigint | number = 25_000_000): Promise<string> {
    return this.chain.send(this.chain.account(from), this.token.call('mint(address,uint256)', [this.payee, value]));
  }

  async followed(): Promise<void> {
    await this.service.followedTo((await this.chain.head()).number);
  }

  /** Mines one block after another, each of which the service reads. */
  async mineAndFollow(blocks = 1): Promise<void> {
    for (let mined = 0; mined < blocks; mined++) {
      await this.chain.mine();
      await this.followed();
    }
  }
}
