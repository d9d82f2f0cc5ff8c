import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  compressTransactionMessageUsingAddressLookupTables,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getAddressDecoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  type Instruction,
  type KeyPairSigner,
  lamports,
  pipe,
  type SignatureBytes,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type Transaction,
} from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMintInstruction,
  getMintToInstruction,
  getTransferCheckedInstruction,
  getTransferInstruction,
} from '@solana-program/token';
import type { FailedTransactionMetadata, LiteSVM, TransactionMetadata } from 'litesvm';
import { LITESVM } from '../../requirements.ts';

/** Executes transactions with the real programs of Solana, and shows each as `getTransaction` with `encoding: json` does. */

export const TOKEN: Address = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const TOKEN_2022: Address = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
/** Null on a system for which LiteSVM has no build. */
const svm = LITESVM.isMet ? await import('litesvm') : null;
const LAMPORTS_PER_SOL = 1_000_000_000n;
const FEE = 5_000;
const MINT_BYTES = 82n;

export type Tables = Record<Address, Address[]>;
export type SignedTransaction = Readonly<Pick<Transaction, 'messageBytes' | 'signatures'>>;

/** The answer of `getTransaction`, with the parts that tests change. */
export type ShownTransaction = {
  slot: number;
  blockTime: number;
  version: unknown;
  meta: Record<string, unknown> & { err: unknown };
  transaction: { signatures: string[]; message: Record<string, unknown> & { accountKeys: string[] } };
};

const base58 = getBase58Decoder();
const addresses = getAddressDecoder();

type Compiled = {
  readonly version: unknown;
  readonly staticAccounts: readonly Address[];
  readonly header: { readonly numSignerAccounts: number };
  readonly instructions: readonly {
    readonly programAddressIndex: number;
    readonly accountIndices?: readonly number[];
    readonly data?: Uint8Array;
  }[];
  readonly addressTableLookups?: readonly {
    readonly lookupTableAddress: Address;
    readonly writableIndexes: readonly number[];
    readonly readonlyIndexes: readonly number[];
  }[];
};

export class Svm {
  slot = 100;
  readonly vm: LiteSVM;
  #seed = 0;

  /** A `seed` repeats a run: all keys are derived from it. */
  constructor(private readonly seed = 1) {
    if (svm === null) throw new Error('LiteSVM has no build for this system');
    this.vm = new svm.LiteSVM().withNativeMints().withBlockhashCheck(false).withTransactionHistory(0n);
  }

  key(): Promise<KeyPairSigner> {
    const bytes = new Uint8Array(32);
    Bun.SHA256.hash(`${this.seed} ${++this.#seed}`, bytes);
    return createKeyPairSignerFromPrivateKeyBytes(bytes);
  }

  /** A key with this many SOL. */
  async signer(sol = 10): Promise<KeyPairSigner> {
    const signer = await this.key();
    this.vm.airdrop(signer.address, lamports(BigInt(sol) * LAMPORTS_PER_SOL));
    return signer;
  }

  async createMint(authority: KeyPairSigner, program = TOKEN, space = MINT_BYTES, extra: Instruction[] = []) {
    const mint = await this.key();
    const rent = this.vm.minimumBalanceForRentExemption(space);
    const create = { payer: authority, newAccount: mint, space, lamports: rent, programAddress: program };
    const initialize = getInitializeMintInstruction({
      mint: mint.address,
      decimals: 6,
      mintAuthority: authority.address,
    });
    const instructions = [
      getCreateAccountInstruction(create),
      ...extra.map((one) => ({ ...one, accounts: [{ address: mint.address, role: AccountRole.WRITABLE }] })),
      { ...initialize, programAddress: program },
    ];
    await this.succeed(authority, instructions);
    return mint.address;
  }

  async mintTo(authority: KeyPairSigner, mint: Address, owner: Address, amount: bigint, program = TOKEN) {
    const token = await associated(owner, mint, program);
    const mintTo = getMintToInstruction({ mint, token, mintAuthority: authority, amount });
    await this.succeed(authority, [
      await creation(authority, owner, mint, program),
      { ...mintTo, programAddress: program },
    ]);
  }

  tokenAccount(key: Address) {
    const account = this.vm.getAccount(key);
    if (!account.exists || (account.programAddress !== TOKEN && account.programAddress !== TOKEN_2022)) return null;
    const { data } = account;
    if (data.length !== 165 && !(data.length > 165 && data[165] === 2)) return null;
    const view = new DataView(data.buffer, data.byteOffset);
    const mint = addresses.decode(data.slice(0, 32));
    const shown = this.vm.getAccount(mint);
    return {
      mint,
      owner: addresses.decode(data.slice(32, 64)),
      amount: view.getBigUint64(64, true),
      decimals: shown.exists ? (shown.data[44] ?? 0) : 0,
      programId: account.programAddress,
    };
  }

  async build(payer: KeyPairSigner, instructions: readonly Instruction[], tables?: Tables): Promise<SignedTransaction> {
    const blockhash = this.vm.latestBlockhash() as Parameters<
      typeof setTransactionMessageLifetimeUsingBlockhash
    >[0]['blockhash'];
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(payer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight: 10_000_000n }, paid),
      (timed) => appendTransactionMessageInstructions(instructions, timed),
    );
    const short = tables === undefined ? message : compressTransactionMessageUsingAddressLookupTables(message, tables);
    const signed = await signTransactionMessageWithSigners(short);
    // Otherwise an equal transaction would have the same signature.
    this.vm.expireBlockhash();
    return signed;
  }

  execute(signed: SignedTransaction, tables: Tables = {}): ShownTransaction {
    const message = compiledOf(signed);
    const lookups = message.addressTableLookups ?? [];
    const loaded = (of: 'writableIndexes' | 'readonlyIndexes') =>
      lookups.flatMap((one) => [...one[of]].map((place) => tables[one.lookupTableAddress]?.[place] ?? address('')));
    const [writable, readonly] = [loaded('writableIndexes'), loaded('readonlyIndexes')];
    const keys = [...message.staticAccounts, ...writable, ...readonly];
    const before = this.#balances(keys);
    const result = this.vm.sendTransaction(signed as Transaction);
    const isFailed = isFailure(result);
    const meta = isFailed ? result.meta() : result;
    const after = this.#balances(keys);
    const inner = meta.innerInstructions().flatMap((list, index) => {
      const instructions = list.map((one) => one.instruction());
      if (instructions.length === 0) return [];
      const shown = instructions.map((one) => ({
        programIdIndex: one.programIdIndex(),
        accounts: [...one.accounts()],
        data: base58.decode(one.data()),
      }));
      return [{ index, instructions: shown }];
    });
    return {
      slot: this.slot,
      blockTime: 1_763_400_000 + Math.floor(this.slot * 0.4),
      version: message.version,
      meta: {
        err: isFailed ? { InstructionError: [0, String(result.err())] } : null,
        fee: FEE * Object.keys(signed.signatures).length,
        ...{ preBalances: before.lamports, postBalances: after.lamports },
        ...{ preTokenBalances: before.tokens, postTokenBalances: after.tokens },
        innerInstructions: inner,
        loadedAddresses: { writable, readonly },
      },
      transaction: {
        signatures: [signatureOf(signed)],
        message: {
          accountKeys: [...message.staticAccounts],
          header: { numRequiredSignatures: message.header.numSignerAccounts },
          instructions: message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
            programIdIndex: programAddressIndex,
            accounts: [...accountIndices],
            data: base58.decode(data ?? new Uint8Array()),
          })),
        },
      },
    };
  }

  async run(payer: KeyPairSigner, instructions: readonly Instruction[], tables?: Tables): Promise<ShownTransaction> {
    return this.execute(await this.build(payer, instructions, tables), tables);
  }

  /** Throws if the transaction fails. */
  async succeed(payer: KeyPairSigner, instructions: readonly Instruction[], tables?: Tables) {
    const shown = await this.run(payer, instructions, tables);
    if (shown.meta.err !== null) throw new Error(JSON.stringify(shown.meta.err));
    return shown;
  }

  #balances(keys: readonly Address[]) {
    const tokens = keys.flatMap((key, accountIndex) => {
      const account = this.tokenAccount(key);
      if (account === null) return [];
      const { mint, owner, amount, decimals, programId } = account;
      return [{ accountIndex, mint, owner, programId, uiTokenAmount: { amount: String(amount), decimals } }];
    });
    return { lamports: keys.map((key) => Number(this.vm.getBalance(key) ?? 0n)), tokens };
  }
}

function compiledOf({ messageBytes }: SignedTransaction): Compiled {
  return getCompiledTransactionMessageDecoder().decode(messageBytes) as unknown as Compiled;
}

export function signatureOf({ signatures }: SignedTransaction): string {
  const [first] = Object.values(signatures) as SignatureBytes[];
  return base58.decode(first ?? new Uint8Array());
}

export async function associated(owner: Address, mint: Address, tokenProgram = TOKEN): Promise<Address> {
  const [account] = await findAssociatedTokenPda({ owner, mint, tokenProgram });
  return account;
}

/** Creates the associated account of an owner unless it exists. */
export async function creation(payer: KeyPairSigner, owner: Address, mint: Address, tokenProgram = TOKEN) {
  const ata = await associated(owner, mint, tokenProgram);
  return getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner, mint, tokenProgram });
}

export function transfer(authority: KeyPairSigner, source: Address, destination: Address, amount: bigint) {
  return getTransferInstruction({ source, destination, authority, amount });
}

export function transferChecked(
  authority: KeyPairSigner,
  mint: Address,
  [source, destination]: readonly [Address, Address],
  amount: bigint,
) {
  return getTransferCheckedInstruction({ source, mint, destination, authority, amount, decimals: 6 });
}

function isFailure(result: TransactionMetadata | FailedTransactionMetadata): result is FailedTransactionMetadata {
  return svm !== null && result instanceof svm.FailedTransactionMetadata;
}
