import { BoundedMap } from '../../../bounded-map.ts';
import { COIN_DECIMALS, NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import { listedSymbol, type StatedToken } from '../../../domain/chain/tokens.ts';
import type { CallContract, CallOutcome } from './contract-calls.ts';
import { parseDecimals } from './parse-decimals.ts';
import { parseSymbol } from './token-symbol.ts';

/** Stores the decimals and symbols of tokens for ever. */
export type TokenStore = {
  readonly read: (networkId: number, addresses: readonly string[]) => Promise<ReadonlyMap<string, StatedToken>>;
  readonly save: (networkId: number, tokens: ReadonlyMap<string, StatedToken>) => Promise<void>;
};

/** The selector of `decimals()`. */
export const DECIMALS = '0x313ce567';
/** The selector of `symbol()`. */
const SYMBOL = '0x95d89b41';
const MAX_KNOWN = 50_000;
/**
 * Limit on the tokens of one read, because a contract can name any number of tokens and the poll waits for the calls.
 * Paybell asks about further tokens with later logs.
 */
const MAX_ASKED = 20;
/** Time after which Paybell asks again about a token for which no node had an answer. */
const ASK_AGAIN_MS = 60_000;

type Answer = { readonly token: string; readonly decimals: CallOutcome; readonly symbol: string | null };

/** Asks each token for its decimals once. Also asks an unlisted token for its symbol, which is shown to people. */
export class TokenDecimals {
  readonly #known = new BoundedMap<string, number | null>(MAX_KNOWN);
  readonly #askedMs = new BoundedMap<string, number>(MAX_KNOWN);

  constructor(
    private readonly store: TokenStore,
    private readonly call: CallContract,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Leaves out tokens that state no decimals, and tokens for which no node has an answer now. */
  async read(networkId: number, tokens: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const unknown = [...tokens].filter((token) => token !== NATIVE_TOKEN && !this.#known.has(keyOf(networkId, token)));
    if (unknown.length > 0) await this.#learn(networkId, unknown);
    const decimals = new Map<string, number>();
    for (const token of tokens) {
      const known = token === NATIVE_TOKEN ? COIN_DECIMALS : (this.#known.get(keyOf(networkId, token)) ?? null);
      if (known !== null) decimals.set(token, known);
    }
    return decimals;
  }

  async #learn(networkId: number, tokens: readonly string[]): Promise<void> {
    const stored = await this.store.read(networkId, tokens);
    for (const [token, { decimals }] of stored) this.#known.set(keyOf(networkId, token), decimals);
    const sinceMs = this.nowMs() - ASK_AGAIN_MS;
    const isDue = (token: string) => (this.#askedMs.get(keyOf(networkId, token)) ?? sinceMs) <= sinceMs;
    const asked = tokens.filter((token) => !stored.has(token) && isDue(token)).slice(0, MAX_ASKED);
    const outcomes = await Promise.all(asked.map((token) => this.#ask(networkId, token)));
    const learned = new Map<string, StatedToken>();
    for (const { token, decimals, symbol } of outcomes) {
      if ('failed' in decimals && decimals.failed === 'unknown') {
        this.#askedMs.set(keyOf(networkId, token), this.nowMs());
      } else {
        learned.set(token, { decimals: 'data' in decimals ? parseDecimals(decimals.data) : null, symbol });
      }
    }
    if (learned.size === 0) return;
    await this.store.save(networkId, learned);
    for (const [token, { decimals }] of learned) this.#known.set(keyOf(networkId, token), decimals);
  }

  /** If no node returns the symbol, it stays unknown, because amounts do not need it. */
  async #ask(networkId: number, token: string): Promise<Answer> {
    const isListed = listedSymbol(networkId, token) !== null;
    const [decimals, symbol] = await Promise.all([
      this.call(networkId, { to: token, data: DECIMALS, block: 'latest' }),
      isListed ? null : this.call(networkId, { to: token, data: SYMBOL, block: 'latest' }),
    ]);
    return { token, decimals, symbol: symbol !== null && 'data' in symbol ? parseSymbol(symbol.data) : null };
  }
}

function keyOf(networkId: number, token: string): string {
  return `${networkId} ${token}`;
}
