import { join } from 'node:path';
import { keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { tempFolder } from '../paybell.ts';
import { encodeArguments } from './abi-encoding.ts';
import { compileContracts } from './compile-contracts.ts';
import { type Call, DeployedContract } from './deployed-contract.ts';
import { GETH_CHAIN_ID, GethNode, type Payload } from './geth-node.ts';

const ACCOUNTS = 8;

/**
 * Two geth nodes for true reorganisations. Node A is the one to follow. Node B stays below it, mines the rival branch, and
 * its blocks are given to A, which is then told that the head is there. B cannot go back: a fork replaces blocks that A
 * has mined since the last one.
 */
export class GethPair implements AsyncDisposable {
  /** The blocks of A that B has not got. */
  #ahead: Payload[] = [];
  /** The blocks of B that A has not got. */
  #missed: Payload[] = [];
  #head: string;
  readonly #nonces = new Map<number, number>();

  private constructor(
    readonly a: GethNode,
    readonly b: GethNode,
    genesis: string,
    private readonly removeFolder: () => void,
  ) {
    this.#head = genesis;
  }

  static async start(binary: string): Promise<GethPair> {
    const folder = tempFolder();
    const funded = Array.from({ length: ACCOUNTS }, (_, index) => signerOf(index).address);
    const [a, b] = await Promise.all(['a', 'b'].map((name) => GethNode.start(binary, join(folder.path, name), funded)));
    if (a === undefined || b === undefined) throw new Error('Two nodes were started');
    const { hash } = (await a.rpc('eth_getBlockByNumber', ['0x0', false])) as { hash: string };
    return new GethPair(a, b, hash, folder.remove);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.a.stop(), this.b.stop()]);
    this.removeFolder();
  }

  /** The address of an account, from 0 to 7. */
  account(index: number): string {
    return signerOf(index).address.toLowerCase();
  }

  /** A signed transaction with the next nonce of the account, or with a nonce that takes the place of an earlier one. */
  async sign(index: number, call: Call, nonce = this.#nonces.get(index) ?? 0): Promise<{ raw: string; hash: string }> {
    this.#nonces.set(index, Math.max(nonce + 1, this.#nonces.get(index) ?? 0));
    const { to, data, gas = 2_000_000 } = call;
    const raw = await signerOf(index).signTransaction({
      chainId: GETH_CHAIN_ID,
      type: 'eip1559',
      nonce,
      gas: BigInt(gas),
      maxFeePerGas: 10_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
      data: data as `0x${string}`,
      ...(to === undefined ? {} : { to: to as `0x${string}` }),
    });
    return { raw, hash: keccak256(raw) };
  }

  /** Mines blocks on A; the first one has the transactions. */
  async mine(blocks = 1, transactions: readonly string[] = []): Promise<void> {
    for (let mined = 0; mined < blocks; mined++) {
      const payload = await this.a.mine(this.#head, mined === 0 ? transactions : []);
      this.#head = payload.blockHash;
      this.#ahead.push(payload);
    }
  }

  /** Gives B every block of A, so that both nodes are on one branch. */
  async share(): Promise<void> {
    for (const payload of this.#ahead.splice(0)) await this.b.import(payload);
    await this.b.setHead(this.#head);
  }

  /** Mines a block on B, and gives it to A unless A hangs. */
  async mineOnB(transactions: readonly string[], isShared: boolean): Promise<void> {
    const payload = await this.b.mine(this.#head, transactions);
    this.#head = payload.blockHash;
    if (isShared) {
      await this.a.import(payload);
      await this.a.setHead(this.#head);
    } else this.#missed.push(payload);
  }

  /** Gives A the blocks that it missed. */
  async catchUp(): Promise<void> {
    for (const payload of this.#missed.splice(0)) await this.a.import(payload);
    await this.a.setHead(this.#head);
  }

  /** Moves the tags of a node to the blocks that far below its head. */
  async setTags(safeBehind: number, finalBehind: number, node = this.a): Promise<void> {
    const { number } = (await node.rpc('eth_getBlockByNumber', ['latest', false])) as { number: string };
    const hashAt = async (behind: number) => {
      const height = `0x${Math.max(Number(number) - behind, 0).toString(16)}`;
      return ((await node.rpc('eth_getBlockByNumber', [height, false])) as { hash: string }).hash;
    };
    await node.setHead(this.#head, { safe: await hashAt(safeBehind), finalized: await hashAt(finalBehind) });
  }

  /** Replaces the newest blocks of A with a branch of B, one block for each list of transactions. */
  async fork(depth: number, branch: readonly (readonly string[])[]): Promise<void> {
    if (depth > this.#ahead.length) throw new Error(`A is only ${this.#ahead.length} blocks ahead of B`);
    const shared = this.#ahead.slice(0, this.#ahead.length - depth);
    for (const payload of shared) await this.b.import(payload);
    let parent = this.#ahead[this.#ahead.length - depth]?.parentHash ?? this.#head;
    if (shared.length > 0) await this.b.setHead(parent);
    for (const transactions of branch) {
      const payload = await this.b.mine(parent, transactions);
      await this.a.import(payload);
      parent = payload.blockHash;
    }
    await this.a.setHead(parent);
    this.#head = parent;
    this.#ahead = [];
  }

  async deploy(name: string, types: string, values: readonly number[]): Promise<DeployedContract> {
    const contract = (await compileContracts())[name];
    if (contract === undefined) throw new Error(`There is no contract ${name}`);
    const { raw, hash } = await this.sign(0, { data: contract.bytecode + encodeArguments(types, values) });
    await this.mine(1, [raw]);
    const receipt = (await this.a.rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: string };
    return new DeployedContract(name, receipt.contractAddress, contract);
  }
}

function signerOf(index: number) {
  return privateKeyToAccount(`0x${(index + 1).toString(16).padStart(64, '0')}`);
}
