import {
  ContractDecoder,
  EdrContext,
  L1_CHAIN_TYPE,
  l1GenesisState,
  l1HardforkFromString,
  l1ProviderFactory,
  MineOrdering,
  PRAGUE,
  type Provider,
  type ProviderConfig,
} from '@nomicfoundation/edr';
import { type Argument, encodeArguments } from './abi-encoding.ts';
import { type Contracts, compileContracts } from './compile-contracts.ts';
import { type Call, DeployedContract } from './deployed-contract.ts';
import { type Block, blockAt, hex, type JsonRpc, RpcError } from './json-rpc.ts';

/** Above any transaction of the tests, and so far above it that no block reaches half of it and raises the base fee. */
const BLOCK_GAS = 4_000_000_000n;
const DEFAULT_GAS = 1_000_000;
/** By the time of the blocks. A follower learns its pace from it, and polls as often as it does at all. */
const BLOCKS_PER_SECOND = 4;

type Request = {
  from: string;
  to?: string;
  data: string;
  value: string;
  nonce: string;
  gas: string;
  gasPrice: '0x0';
};
export type MinedTransaction = { readonly hash: string; readonly blockNumber: number };

export type Fork = {
  /** Blocks of the new branch: one more than it replaces, unless told. */
  readonly length?: number;
  /** The block of the new branch that has the transaction again, counted from 0; null drops it. All are dropped unless told. */
  readonly place?: (transaction: MinedTransaction, index: number) => number | null;
};

/**
 * A real EVM in this process. It mines when it is told to, and can replace its newest blocks with others, as a network
 * does in a reorganisation: a transaction that is included again keeps its hash.
 */
export class EdrChain {
  readonly #sent = new Map<string, Request>();
  /** The snapshot that was taken right after each block, by height. */
  readonly #snapshots = new Map<number, string>();
  /** Senders of the transactions that wait for a block. The EVM would execute them all to count those of one sender. */
  #pending: string[] = [];
  #forks = 0;

  private constructor(
    readonly chainId: number,
    readonly accounts: readonly string[],
    readonly rpc: JsonRpc,
    private readonly contracts: Contracts,
    private readonly startS: number,
  ) {}

  /** The accounts need no money: gas is free. */
  static async start(options: { chainId?: number; accounts?: number } = {}): Promise<EdrChain> {
    const { chainId = 8453, accounts = 20 } = options;
    const keys = Array.from({ length: accounts }, (_, index) => `0x${(index + 1).toString(16).padStart(64, '0')}`);
    const startS = Math.floor(Date.now() / 1000);
    const [provider, contracts] = await Promise.all([createProvider(chainId, keys, startS), compileContracts()]);
    const rpc = rpcOf(provider);
    const chain = new EdrChain(chainId, (await rpc('eth_accounts', [])) as string[], rpc, contracts, startS);
    await chain.#keepSnapshot(0);
    return chain;
  }

  account(index: number): string {
    const account = this.accounts[index];
    if (account === undefined) throw new Error(`The chain was started with ${this.accounts.length} accounts`);
    return account;
  }

  async head(): Promise<Block> {
    const block = await blockAt(this.rpc, 'latest');
    if (block === null) throw new Error('The chain has no block');
    return block;
  }

  /** Gives the transaction to the next block, and returns its hash. */
  async send(from: string, call: Call): Promise<string> {
    const mined = Number(await this.rpc('eth_getTransactionCount', [from, 'latest']));
    const nonce = mined + this.#pending.filter((sender) => sender === from).length;
    const { gas = DEFAULT_GAS, value = 0n, ...rest } = call;
    const paid = { value: hex(value), nonce: hex(nonce), gas: hex(gas), gasPrice: '0x0' } as const;
    return this.#submit({ from, ...rest, ...paid });
  }

  /** Gives a transaction that a fork dropped to the next block again, under the hash that it had. */
  async sendAgain(hash: string): Promise<void> {
    const request = this.#sent.get(hash);
    if (request === undefined) throw new Error(`${hash} was not sent by this chain`);
    const again = await this.#submit(request);
    if (again !== hash) throw new Error(`${hash} came back as ${again}`);
  }

  async #submit(request: Request): Promise<string> {
    const hash = (await this.rpc('eth_sendTransaction', [request])) as string;
    this.#sent.set(hash, request);
    this.#pending.push(request.from);
    return hash;
  }

  async mine(blocks = 1): Promise<Block> {
    let head = (await this.head()).number;
    for (let mined = 0; mined < blocks; mined++) {
      head++;
      await this.rpc('evm_mine', [this.startS + Math.ceil(head / BLOCKS_PER_SECOND)]);
      this.#pending = [];
      await this.#keepSnapshot(head);
    }
    return this.head();
  }

  /** Deploys one of the contracts in `contracts/`, in a block of its own. */
  async deploy(name: string, types = '', values: readonly Argument[] = []): Promise<DeployedContract> {
    const contract = this.contracts[name];
    if (contract === undefined) throw new Error(`There is no contract ${name}`);
    const data = contract.bytecode + encodeArguments(types, values);
    const hash = await this.send(this.account(0), { data, gas: 10 * DEFAULT_GAS });
    await this.mine();
    const receipt = (await this.rpc('eth_getTransactionReceipt', [hash])) as {
      status: string;
      contractAddress: string;
    };
    if (receipt.status !== '0x1') throw new Error(`${name} was not deployed`);
    return new DeployedContract(name, receipt.contractAddress.toLowerCase(), contract);
  }

  /** Replaces the newest blocks with a branch of its own, and returns its head. What was pending is dropped. */
  async fork(depth: number, { length = depth + 1, place = () => null }: Fork = {}): Promise<Block> {
    const { number: head } = await this.head();
    const replaced = await this.#transactionsAfter(head - depth);
    await this.#revertTo(head - depth);
    // Without it, an empty branch would have the very hashes of the one that it replaces.
    await this.rpc('hardhat_setPrevRandao', [`0x${(++this.#forks).toString(16).padStart(64, '0')}`]);
    const placed = replaced.map((transaction, index) => ({ hash: transaction.hash, at: place(transaction, index) }));
    for (let at = 0; at < length; at++) {
      for (const { hash } of placed.filter((transaction) => transaction.at === at)) await this.sendAgain(hash);
      await this.mine();
    }
    return this.head();
  }

  async #transactionsAfter(height: number): Promise<MinedTransaction[]> {
    const { number: head } = await this.head();
    const found: MinedTransaction[] = [];
    for (let number = height + 1; number <= head; number++) {
      const block = (await this.rpc('eth_getBlockByNumber', [hex(number), false])) as { transactions: string[] };
      found.push(...block.transactions.map((hash) => ({ hash, blockNumber: number })));
    }
    return found;
  }

  async #revertTo(height: number): Promise<void> {
    const snapshot = this.#snapshots.get(height);
    if (snapshot === undefined || !(await this.rpc('evm_revert', [snapshot]))) throw new Error(`No block ${height}`);
    this.#pending = [];
    for (const each of [...this.#snapshots.keys()]) if (each > height) this.#snapshots.delete(each);
    // A snapshot is used up when it is reverted to.
    await this.#keepSnapshot(height);
  }

  async #keepSnapshot(height: number): Promise<void> {
    this.#snapshots.set(height, (await this.rpc('evm_snapshot', [])) as string);
  }
}

/** EDR asks for one context a process. */
let context: Promise<EdrContext> | null = null;

async function createContext(): Promise<EdrContext> {
  const created = new EdrContext();
  await created.registerProviderFactory(L1_CHAIN_TYPE, l1ProviderFactory());
  return created;
}

async function createProvider(chainId: number, keys: string[], startS: number): Promise<Provider> {
  context ??= createContext();
  const config: ProviderConfig = {
    allowBlocksWithSameTimestamp: true,
    allowUnlimitedContractSize: false,
    bailOnCallFailure: true,
    bailOnTransactionFailure: false,
    chainId: BigInt(chainId),
    coinbase: new Uint8Array(20),
    defaultTransactionGasLimit: BigInt(DEFAULT_GAS),
    genesisState: l1GenesisState(l1HardforkFromString(PRAGUE)),
    hardfork: PRAGUE,
    initialBaseFeePerGas: 0n,
    initialParentBeaconBlockRoot: new Uint8Array(32),
    minGasPrice: 0n,
    mining: { autoMine: false, blockGasLimit: BLOCK_GAS, memPool: { order: MineOrdering.Fifo } },
    network: { genesisBlockGasLimit: BLOCK_GAS, genesisBlockTime: BigInt(startS) },
    networkId: BigInt(chainId),
    observability: {},
    ownedAccounts: keys,
    precompileOverrides: [],
  };
  const logger = { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => undefined };
  const subscriptions = { subscriptionCallback: () => undefined };
  return (await context).createProvider(L1_CHAIN_TYPE, config, logger, subscriptions, new ContractDecoder());
}

type Answer = { result?: unknown; error?: { code: number; message: string } };

function rpcOf(provider: Provider): JsonRpc {
  return async (method, params) => {
    const { data } = await provider.handleRequest(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    // A long answer is text, a short one is parsed already.
    const { result, error } = (typeof data === 'string' ? JSON.parse(data) : data) as Answer;
    if (error !== undefined) throw new RpcError(error.code, error.message);
    return result ?? null;
  };
}
