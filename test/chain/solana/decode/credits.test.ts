import { beforeAll, describe, expect, test } from 'bun:test';
import { AccountRole, type Address, address, getAddressEncoder, type KeyPairSigner, lamports } from '@solana/kit';
import { getCreateAccountInstruction, getTransferSolInstruction } from '@solana-program/system';
import {
  AuthorityType,
  getCloseAccountInstruction,
  getInitializeAccountInstruction,
  getMintToInstruction,
  getRecoverNestedAssociatedTokenInstructionAsync,
  getSetAuthorityInstruction,
} from '@solana-program/token';
import { creditsOf, NATIVE } from '../../../../src/chain/solana/decode/credits.ts';
import { readTransaction } from '../../../../src/chain/solana/decode/transaction.ts';
import { parseExactly } from '../../../../src/chain/solana/rpc/values.ts';
import {
  associated,
  creation,
  type ShownTransaction,
  Svm,
  TOKEN,
  TOKEN_2022,
  transfer,
  transferChecked,
} from '../../../support/chain/solana/svm.ts';
import { LITESVM, needs } from '../../../support/requirements.ts';

/** Each transaction was executed by the programs of Solana. */
describe.skipIf(!LITESVM.isMet)(`credits by balance ${needs(LITESVM)}`, () => {
  let svm: Svm;
  let admin: KeyPairSigner;
  let payer: KeyPairSigner;
  let other: KeyPairSigner;
  let shop: KeyPairSigner;
  let usdc: Address;
  let from: Address;
  let fromOther: Address;
  let till: Address;

  beforeAll(async () => {
    svm = new Svm();
    [admin, payer, other, shop] = [await svm.signer(1000), await svm.signer(), await svm.signer(), await svm.signer()];
    usdc = await svm.createMint(admin);
    await svm.mintTo(admin, usdc, payer.address, 1_000_000_000n);
    await svm.mintTo(admin, usdc, other.address, 1_000_000_000n);
    await svm.mintTo(admin, usdc, shop.address, 50_000_000n);
    [from, fromOther, till] = (await Promise.all([payer, other, shop].map((one) => associated(one.address, usdc)))) as [
      Address,
      Address,
      Address,
    ];
  });

  const read = (shown: ShownTransaction) => {
    const transaction = readTransaction(shown);
    if (transaction === null) throw new Error('the transaction has no JSON');
    return transaction;
  };
  const toShop = (shown: ShownTransaction) =>
    creditsOf(read(shown))
      .filter(({ payee }) => payee === shop.address)
      .map(({ token, amount, payer: by }) => ({ token, amount, payer: by }));
  const usdcFrom = (amount: bigint, by: string | null = payer.address) => [{ token: usdc, amount, payer: by }];
  const memo = (data: Uint8Array) => ({
    programAddress: address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'),
    data,
  });
  const textMemo = (text: string) => memo(new TextEncoder().encode(text));

  test('a transfer is a credit, and needs no key of the wallet or the token', async () => {
    const shown = await svm.succeed(payer, [transfer(payer, from, till, 2_000_000n)]);
    expect(toShop(shown)).toEqual(usdcFrom(2_000_000n));
    const { keys } = read(shown);
    expect([keys.includes(shop.address), keys.includes(usdc)]).toEqual([false, false]);
  });

  test('transferChecked has its memo and its reference', async () => {
    const reference = (await svm.key()).address;
    const pay = transferChecked(payer, usdc, [from, till], 3_000_000n);
    const withReference = { ...pay, accounts: [...pay.accounts, { address: reference, role: AccountRole.READONLY }] };
    const shown = await svm.succeed(payer, [textMemo('order-17'), withReference]);
    expect(toShop(shown)).toEqual(usdcFrom(3_000_000n));
    expect(read(shown).memos).toEqual(['order-17']);
    expect(read(shown).references).toEqual([reference]);
  });

  test('a transfer by another program is a credit', async () => {
    const usdt = await svm.createMint(admin);
    // The token account of the shop owns a token account, and the program of associated accounts moves its content.
    await svm.mintTo(admin, usdt, till, 9_000_000n);
    const parts = {
      walletAddress: shop,
      ownerTokenMintAddress: usdc,
      nestedTokenMintAddress: usdt,
      tokenProgram: TOKEN,
    };
    const recover = await getRecoverNestedAssociatedTokenInstructionAsync(parts);
    const shown = await svm.succeed(shop, [await creation(shop, shop.address, usdt), recover]);
    expect(toShop(shown)).toEqual([{ token: usdt, amount: 9_000_000n, payer: till }]);
  });

  test('keys of a lookup table are read', async () => {
    const table = (await svm.key()).address;
    const listed = [till, shop.address, usdc];
    const data = new Uint8Array(56 + 32 * listed.length);
    const view = new DataView(data.buffer);
    view.setUint32(0, 1, true);
    view.setBigUint64(4, 2n ** 64n - 1n, true);
    for (const [place, key] of listed.entries()) data.set(getAddressEncoder().encode(key), 56 + 32 * place);
    const programAddress = address('AddressLookupTab1e1111111111111111111111111');
    const account = { exists: true, executable: false, lamports: lamports(10_000_000n), programAddress } as const;
    svm.vm.setAccount({ ...account, address: table, space: BigInt(data.length), data });
    svm.vm.warpToSlot(200n);
    const pay = getTransferSolInstruction({ source: payer, destination: shop.address, amount: 1_000n });
    const instructions = [transferChecked(payer, usdc, [from, till], 6_000_000n), pay];
    const shown = await svm.succeed(payer, instructions, { [table]: listed });
    expect(shown.transaction.message.accountKeys).not.toContain(till);
    const sol = { token: NATIVE, amount: 1_000n, payer: payer.address };
    expect(toShop(shown)).toEqual([...usdcFrom(6_000_000n), sol].sort((a, b) => (a.token < b.token ? -1 : 1)));
  });

  test('two transfers to one wallet are one credit, their sum', async () => {
    const shown = await svm.succeed(payer, [transfer(payer, from, till, 1n), transfer(payer, from, till, 4n)]);
    expect(toShop(shown)).toEqual(usdcFrom(5n));
  });

  test('two payers make one credit without a payer', async () => {
    const both = [transfer(payer, from, till, 1_000n), transfer(other, fromOther, till, 500n)];
    expect(toShop(await svm.succeed(payer, both))).toEqual(usdcFrom(1_500n, null));
  });

  test('a transfer of the wallet to itself is no credit', async () => {
    expect(toShop(await svm.succeed(shop, [transfer(shop, till, till, 1_000n)]))).toEqual([]);
  });

  test('money that comes and goes in one transaction is no credit', async () => {
    const both = [transfer(payer, from, till, 7_000n), transfer(shop, till, fromOther, 7_000n)];
    expect(toShop(await svm.succeed(payer, both))).toEqual([]);
  });

  const looseAccount = async (owner: KeyPairSigner, amount: bigint) => {
    const loose = await svm.key();
    const rent = svm.vm.minimumBalanceForRentExemption(165n);
    const create = { payer, newAccount: loose, space: 165n, lamports: rent, programAddress: TOKEN };
    const initialize = { account: loose.address, mint: usdc, owner: owner.address };
    await svm.succeed(payer, [getCreateAccountInstruction(create), getInitializeAccountInstruction(initialize)]);
    if (amount > 0n) await svm.succeed(payer, [transfer(payer, from, loose.address, amount)]);
    return loose.address;
  };

  test('a transfer between two accounts of the wallet is no credit', async () => {
    const loose = await looseAccount(shop, 5_000n);
    expect(toShop(await svm.succeed(shop, [transfer(shop, loose, till, 5_000n)]))).toEqual([]);
  });

  test('a filled token account that is handed over is a credit', async () => {
    const owned = await looseAccount(payer, 5_000n);
    const authorityType = AuthorityType.AccountOwner;
    const give = { owned, owner: payer, authorityType, newAuthority: shop.address };
    const shown = await svm.succeed(payer, [getSetAuthorityInstruction(give)]);
    expect(toShop(shown)).toEqual(usdcFrom(5_000n));
  });

  test('a token with a fee credits the amount that arrived', async () => {
    const encoder = getAddressEncoder();
    const admins = [...encoder.encode(admin.address)];
    const most = new Uint8Array(8);
    new DataView(most.buffer).setBigUint64(0, 10_000_000n, true);
    // 100 basis points, and the mint has room for the configuration of fees.
    const data = new Uint8Array([26, 0, 1, ...admins, 1, ...admins, 100, 0, ...most]);
    const fees = { programAddress: TOKEN_2022, data };
    const mint = await svm.createMint(admin, TOKEN_2022, 278n, [fees]);
    await svm.mintTo(admin, mint, payer.address, 1_000_000_000n, TOKEN_2022);
    const places = [payer, shop].map((one) => associated(one.address, mint, TOKEN_2022));
    const [source, destination] = (await Promise.all(places)) as [Address, Address];
    const pay = transferChecked(payer, mint, [source, destination], 100_000_000n);
    const create = await creation(payer, shop.address, mint, TOKEN_2022);
    const shown = await svm.succeed(payer, [create, { ...pay, programAddress: TOKEN_2022 }]);
    expect(toShop(shown)).toEqual([{ token: mint, amount: 99_000_000n, payer: payer.address }]);
  });

  test('a batch of the token program is a credit', async () => {
    const [a, b] = [transfer(payer, from, till, 1_100n), transfer(payer, from, till, 2_200n)];
    const data = new Uint8Array([255, 3, a.data.length, ...a.data, 3, b.data.length, ...b.data]);
    const batch = { programAddress: TOKEN, accounts: [...a.accounts, ...b.accounts], data };
    expect(toShop(await svm.succeed(payer, [batch]))).toEqual(usdcFrom(3_300n));
  });

  test('tokens that are minted to the wallet are a credit without a payer', async () => {
    const mint = getMintToInstruction({ mint: usdc, token: till, mintAuthority: admin, amount: 12_000n });
    expect(toShop(await svm.succeed(admin, [mint]))).toEqual(usdcFrom(12_000n, null));
  });

  test('a failed transaction has no credit', async () => {
    const shown = await svm.run(payer, [transfer(payer, from, till, 1n), transfer(payer, from, till, 10n ** 15n)]);
    expect(shown.meta.err).not.toBeNull();
    expect(toShop(shown)).toEqual([]);
  });

  test('the rent of a closed account that someone sends to the wallet is a credit in SOL', async () => {
    const account = await looseAccount(payer, 0n);
    const close = getCloseAccountInstruction({ account, destination: shop.address, owner: payer });
    const rent = svm.vm.minimumBalanceForRentExemption(165n);
    expect(toShop(await svm.succeed(payer, [close])).map(({ token, amount }) => [token, amount])).toEqual([
      [NATIVE, rent],
    ]);
  });

  test('rent that comes back to the wallet that signs is no credit', async () => {
    const account = await looseAccount(shop, 0n);
    const close = getCloseAccountInstruction({ account, destination: shop.address, owner: shop });
    expect(toShop(await svm.succeed(shop, [close]))).toEqual([]);
  });

  test('a transfer of SOL is a credit, and the fee is not a part of it', async () => {
    const pay = getTransferSolInstruction({ source: payer, destination: shop.address, amount: 250_000n });
    const shown = await svm.succeed(payer, [pay]);
    expect(toShop(shown)).toEqual([{ token: NATIVE, amount: 250_000n, payer: payer.address }]);
  });

  test('a node without inner instructions and loaded addresses shows the same credit', async () => {
    const shown = await svm.succeed(payer, [textMemo('kept'), transfer(payer, from, till, 9n)]);
    const meta = { ...shown.meta, innerInstructions: null, loadedAddresses: undefined };
    expect(toShop({ ...shown, meta })).toEqual(usdcFrom(9n));
  });

  test('a transaction of version 1 is read', async () => {
    const shown = await svm.succeed(payer, [transfer(payer, from, till, 11n)]);
    expect(toShop({ ...shown, version: 1 })).toEqual(usdcFrom(11n));
  });

  test('memos that are not UTF-8, and more than one memo, explain nothing', async () => {
    const pay = transfer(payer, from, till, 1n);
    const broken = await svm.succeed(payer, [pay]);
    const memoProgram = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo';
    const { message } = broken.transaction;
    const instructions = (data: string, count: number) => [
      ...(message.instructions as unknown[]),
      ...Array.from({ length: count }, () => ({ programIdIndex: message.accountKeys.length, accounts: [], data })),
    ];
    const withMemos = (data: string, count: number): ShownTransaction => ({
      ...broken,
      transaction: {
        ...broken.transaction,
        message: {
          ...message,
          accountKeys: [...message.accountKeys, memoProgram],
          instructions: instructions(data, count),
        },
      },
    });
    // In base58, 5Q is the byte ff and 2g is the letter a.
    expect(read(withMemos('5Q', 1)).memos).toEqual([]);
    expect(read(withMemos('2g', 1)).memos).toEqual(['a']);
    expect(read(withMemos('2g', 200)).memos).toHaveLength(2);
    expect(toShop(withMemos('5Q', 200))).toEqual(usdcFrom(1n));
  });

  test('amounts above 2^53 lamports are exact', async () => {
    const pay = getTransferSolInstruction({ source: payer, destination: shop.address, amount: 1n });
    const text = JSON.stringify(await svm.succeed(payer, [pay]), (name, value) =>
      name === 'preBalances' || name === 'postBalances' ? value.map(() => `big ${name}`) : value,
    );
    const exact = text
      .replaceAll('"big preBalances"', '9007199254740993')
      .replaceAll('"big postBalances"', '9007199254740994');
    const transaction = readTransaction(parseExactly(exact));
    expect(transaction?.lamportsBefore[1]).toBe(9_007_199_254_740_993n);
    expect(toShop(parseExactly(exact) as ShownTransaction)).toMatchObject([{ amount: 1n }]);
  });
});
