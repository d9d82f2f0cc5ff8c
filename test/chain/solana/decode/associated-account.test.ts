import { expect, test } from 'bun:test';
import { associatedAccount, isOnCurve } from '../../../../src/chain/solana/decode/associated-account.ts';
import { TOKEN, TOKEN_2022 } from '../../../support/chain/solana/svm.ts';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

/** By `findAssociatedTokenPda` of @solana-program/token 0.16.1. */
const VECTORS = [
  ['Ekw5L3CvrUAPynKH1K43w3Rn7p3xAGWN62Bmku6fefHC', TOKEN, 'TmvF55urMJkwdj1BBYEfWqeSvza2dDDFsZYFz2T685e'],
  ['Ekw5L3CvrUAPynKH1K43w3Rn7p3xAGWN62Bmku6fefHC', TOKEN_2022, '3AAY6TbEKQvYgAFs6egDKRbBAgQLKAKv5VZ3frpdho6m'],
  ['EKHx6cES7DwrKNL4XvsAtgju7yooBzvWBjPfHRyTayVm', TOKEN, 'FDxVb2wX6T2oaoqJvS2eqY1PFszGBDY71DDLxaeno4Ag'],
  ['EKHx6cES7DwrKNL4XvsAtgju7yooBzvWBjPfHRyTayVm', TOKEN_2022, 'GXPWgRDBDPvuAKBVjGB31qwmn3n8GLSbugztDaEgUyJc'],
  ['Gmh8qDevizzWqXdFeJ1jk9AP8apqToXBgZLSdHrf8T6M', TOKEN, '5pLDjLew8w4t1HVEhcvGJcTDA6PtBGstJQyjfWWrSf5W'],
  ['Gmh8qDevizzWqXdFeJ1jk9AP8apqToXBgZLSdHrf8T6M', TOKEN_2022, '79G78KUwvddz3V5BDwxGC8XV8miT2MMdLFyrrux5fFL5'],
  ['Cc2nfuSJiyCoNciydyHgTm53pcApyK6ZkHhhRNEBEvrL', TOKEN, '9ccCFzLr67HgoB9kunNnNgrQEt5HzAta4Abn3vMDJRpi'],
  ['Cc2nfuSJiyCoNciydyHgTm53pcApyK6ZkHhhRNEBEvrL', TOKEN_2022, 'ZS9u2R7CjBZg8b9pDuruqpL4Vb74yZY9xNoTK1PbnJb'],
] as const;

test.each(VECTORS)('the account of the wallet %s in program %s is known', (wallet, program, account) => {
  expect(associatedAccount(wallet, USDC, program)).toBe(account);
});

test('about half of all texts of 32 bytes are points of the curve', () => {
  const digests = Array.from({ length: 200 }, (_, index) => {
    const digest = new Uint8Array(32);
    Bun.SHA256.hash(`text ${index}`, digest);
    return digest;
  });
  const points = digests.filter(isOnCurve).length;
  expect(points).toBeGreaterThan(60);
  expect(points).toBeLessThan(140);
});

test('a text that is not an address has no account', () => {
  expect(() => associatedAccount('0x12', USDC, TOKEN)).toThrow('0x12 is not an address');
});
