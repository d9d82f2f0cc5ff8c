/** Contracts or wallets that the entity follows: the first one from the start, and the others once it has a source for them. */
export const FIRST_CONTRACT = 1;
export const LATER_CONTRACTS = [2, 3, 4, 5, 6, 7];
