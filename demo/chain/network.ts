import { showTronAddress } from '../../src/domain/chain/families/tron.ts';
import type { DeployedContract } from '../../test/support/chain/deployed-contract.ts';
import { EdrChain } from '../../test/support/chain/edr-chain.ts';
import type { JsonRpc } from '../../test/support/chain/json-rpc.ts';
import { RpcProxy } from '../../test/support/chain/rpc-proxy.ts';
import { tronDialect } from '../../test/support/chain/tron/tron-dialect.ts';
import { type Random, seededRandom } from '../../test/support/random.ts';
import type { CanonicalPayment } from './ledger.ts';
import { MAX_DEPTH, type PaidNetwork, type Rules } from './paid-network.ts';

/** A network of one real EVM, on which payments are made and undone. */

export type EvmKind = 'evm' | 'tron';

type EvmRules = Rules & {
  /** The calls of the node over the calls of the EVM. */
  readonly dialect: (rpc: JsonRpc) => JsonRpc;
  readonly show: (address: string) => string;
};

const RULES: Readonly<Record<EvmKind, EvmRules>> = {
  evm: {
    ...{ networkId: 8453, preset: 'erc20', finalBehind: 16, pollEvery: '1s' },
    ...{ dialect: (rpc) => rpc, show: (address) => address },
  },
  tron: {
    ...{ networkId: 3_448_148_188, preset: 'trc20', finalBehind: 19, pollEvery: '1s' },
    ...{ dialect: tronDialect, show: showTronAddress },
  },
};

const SAFE_BEHIND = 8;
const BLOCKS_OF_A_ROUND = 3;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

type Log = { transactionHash: string; blockNumber: string; blockHash: string; data: string };

export class DemoNetwork implements PaidNetwork {
  /** Dropped payments that come back in the next block. */
  #backSoon: string[] = [];
  /** Those that come back when they have been retracted: each list waits for two rounds of payments. */
  #backLater: string[] = [];
  #backNext: string[] = [];
  #paid = 0;
  readonly #random: Random = seededRandom(18);

  private constructor(
    private readonly chain: EdrChain,
    private readonly token: DeployedContract,
    private readonly node: RpcProxy,
    readonly rules: EvmRules,
    private readonly rpc: JsonRpc,
  ) {}

  /** With an account for each payment: a payment that is dropped then stops no later one. */
  static async start(payments: number, kind: EvmKind): Promise<DemoNetwork> {
    const rules = RULES[kind];
    const chain = await EdrChain.start({ chainId: rules.networkId, accounts: payments + 2 });
    const token = await chain.deploy('Token', 'uint8', [6]);
    for (let payer = 0; payer < payments; payer++) {
      const mint = token.call('mint(address,uint256)', [chain.account(payer + 2), 1_000_000_000n]);
      await chain.send(chain.account(0), mint);
    }
    await chain.mine(2 * MAX_DEPTH);
    const rpc = rules.dialect(chain.rpc);
    const node = new RpcProxy(rpc, { safe: SAFE_BEHIND, finalized: rules.finalBehind });
    return new DemoNetwork(chain, token, node, rules, rpc);
  }

  /** The address of the node, as an operator would configure it. */
  get url(): string {
    return this.node.url;
  }

  get contract(): string {
    return this.rules.show(this.token.address);
  }

  get payee(): string {
    return this.rules.show(this.chain.account(1));
  }

  async stop(): Promise<void> {
    await this.node[Symbol.asyncDispose]();
  }

  /** Makes new payments over a few blocks. One that was retracted some time ago is made again beside them. */
  async pay(count: number): Promise<void> {
    for (const hash of this.#backNext) await this.chain.sendAgain(hash);
    this.#backNext = this.#backLater;
    this.#backLater = [];
    for (let block = 0; block < BLOCKS_OF_A_ROUND; block++) {
      const until = Math.round(((block + 1) * count) / BLOCKS_OF_A_ROUND);
      for (let sent = Math.round((block * count) / BLOCKS_OF_A_ROUND); sent < until; sent++) await this.#payOnce();
      await this.chain.mine();
    }
  }

  async #payOnce(): Promise<void> {
    const amount = 1_000_000 + 10_000 * this.#paid;
    const transfer = this.token.call('transfer(address,uint256)', [this.chain.account(1), amount]);
    await this.chain.send(this.chain.account(2 + this.#paid++), transfer);
  }

  /** Replaces the newest blocks. Of their payments some move, some are gone for a while, and some for good. */
  async reorganise(): Promise<void> {
    const depth = 1 + this.#random.below(MAX_DEPTH);
    const length = depth + 1;
    await this.chain.fork(depth, {
      length,
      place: ({ hash }) => {
        const fate = this.#random.below(10);
        if (fate < 5) return this.#random.below(length);
        if (fate < 7) this.#backSoon.push(hash);
        else if (fate < 9) this.#backLater.push(hash);
        return null;
      },
    });
  }

  async mine(blocks = 1): Promise<void> {
    for (const hash of this.#backSoon.splice(0)) await this.chain.sendAgain(hash);
    await this.chain.mine(blocks);
  }

  /** The payments in the chain as it is now, asked of the EVM itself and not of the node that Paybell reads. */
  async payments(): Promise<Map<string, CanonicalPayment>> {
    const topics = [TRANSFER, null, `0x${this.chain.account(1).slice(2).padStart(64, '0')}`];
    const range = { fromBlock: '0x0', toBlock: 'latest', address: this.token.address, topics };
    const logs = (await this.rpc('eth_getLogs', [range])) as Log[];
    return new Map(
      logs.map(({ transactionHash, blockNumber, blockHash, data }) => [
        transactionHash,
        { blockNumber: Number(blockNumber), blockHash, amountBase: String(BigInt(data)) },
      ]),
    );
  }
}
