import { associatedAccount } from '../../../../src/chain/solana/decode/associated-account.ts';
import { encodeBase58 } from '../../../../src/domain/chain/families/base58.ts';
import { type Account, Cluster, type ModelTransaction } from './cluster.ts';

/** Some wallets that are paid in a token and in SOL by some payers. */

export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const SUPPLY = 10n ** 15n;

function keyOf(name: string): string {
  const digest = new Uint8Array(32);
  Bun.SHA256.hash(name, digest);
  return encodeBase58(digest);
}

/** USDC, so that rules by amount apply. */
export const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

export type Wallet = { readonly sol: Account; readonly token: Account };

function newWallet(name: string): Wallet {
  const owner = keyOf(name);
  return {
    sol: { key: owner, owner, mint: null },
    token: { key: associatedAccount(owner, MINT, TOKEN_PROGRAM), owner, mint: MINT },
  };
}

export type Shops = {
  readonly cluster: Cluster;
  readonly shops: readonly Wallet[];
  readonly payers: readonly Wallet[];
  readonly accounts: ReadonlyMap<string, Account>;
  readonly pay: (shop: number, amount: bigint) => ModelTransaction;
  /** Pays an amount that depends on what the payer has, so that another branch may pay another one. */
  readonly payShare: (shop: number) => ModelTransaction;
  readonly paySol: (shop: number, amount: bigint) => ModelTransaction;
  /** Changes the balance of the shop with a transaction that does not name its account. */
  readonly reward: (shop: number, amount: bigint) => ModelTransaction;
  /** The shop sends all its tokens away, and pays the fee. */
  readonly empty: (shop: number) => ModelTransaction;
};

export function newShops(seed: number, shopCount = 4): Shops {
  const shops = Array.from({ length: shopCount }, (_, index) => newWallet(`shop ${index}`));
  const payers = Array.from({ length: 3 }, (_, index) => newWallet(`payer ${index}`));
  const accounts = new Map(
    [...shops, ...payers].flatMap(({ sol, token }) => [sol, token]).map((one) => [one.key, one]),
  );
  const supply = new Map(payers.map(({ token }) => [token.key, SUPPLY]));
  const cluster = new Cluster(seed, randomTransaction, supply);
  const at = (list: readonly Wallet[], index: number) => list[index % list.length] as Wallet;

  function transfer(from: Wallet, to: Account, amountOf: (held: bigint) => bigint, others: readonly Account[] = []) {
    const source = to.mint === null ? from.sol : from.token;
    return cluster.transaction(from.sol, [source, to, ...others], ({ balanceOf, add }) => {
      const amount = amountOf(balanceOf(source));
      add(source, -amount);
      add(to, amount);
      return amount > 0n;
    });
  }

  /** Two shops are paid, in parts. */
  function payTwo(payer: Wallet, first: Wallet, second: Wallet, amount: bigint): ModelTransaction {
    return cluster.transaction(payer.sol, [payer.token, first.token, second.token], ({ add }) => {
      add(payer.token, -3n * amount);
      add(first.token, amount);
      add(second.token, amount);
      add(first.token, amount);
      return true;
    });
  }

  function randomTransaction({ random }: Cluster): ModelTransaction {
    const [shop, payer] = [at(shops, random.below(shopCount)), at(payers, random.below(3))];
    const amount = BigInt(1 + random.below(1_000_000));
    const kind = random.below(100);
    if (kind < 45) return transfer(payer, shop.token, () => amount);
    if (kind < 53) return payTwo(payer, shop, at(shops, random.below(shopCount)), amount);
    if (kind < 62) return transfer(payer, shop.token, (held) => (held % 97n) + 1n);
    if (kind < 77) return transfer(payer, shop.sol, () => amount);
    if (kind < 87) return transfer(shop, payer.token, (held) => held);
    // Names the wallet and pays nothing.
    if (kind < 92) return transfer(payer, at(payers, random.below(3)).token, () => amount, [shop.sol, shop.token]);
    // Fails, and the fee is paid by the shop or by the payer.
    return transfer(kind < 96 ? shop : payer, kind < 96 ? payer.token : shop.token, () => 10n * SUPPLY);
  }

  return {
    ...{ cluster, shops, payers, accounts },
    pay: (shop, amount) => transfer(at(payers, 0), at(shops, shop).token, () => amount),
    payShare: (shop) => transfer(at(payers, 0), at(shops, shop).token, (held) => (held % 97n) + 1n),
    paySol: (shop, amount) => transfer(at(payers, 0), at(shops, shop).sol, () => amount),
    reward: (shop, amount) =>
      cluster.transaction(at(payers, 0).sol, [], ({ add }) => {
        add(at(shops, shop).token, amount);
        return true;
      }),
    empty: (shop) => transfer(at(shops, shop), at(payers, 0).token, (held) => held),
  };
}
