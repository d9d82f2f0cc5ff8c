import { BoundedMap } from '../../bounded-map.ts';
import { parseDecimals } from './amounts.ts';
import type { CallContract } from './contract-calls.ts';

/** What is known of tokens, kept for ever: null for a token that does not say how many decimals it has. */
export type TokenStore = {
  readonly read: (networkId: number, addresses: readonly string[]) => Promise<ReadonlyMap<string, number | null>>;
  readonly save: (networkId: number, decimals: ReadonlyMap<string, number | null>) => Promise<void>;
};

/** The selector of `decimals()`. */
const DECIMALS = '0x313ce567';
const MAX_KNOWN = 50_000;
/** A contract can name any number of tokens, and the network waits for these calls. Further ones are asked with later logs. */
const MAX_ASKED = 20;
/** A token of which no node could say anything is asked again after this time. */
const ASK_AGAIN_MS = 60_000;

/** The decimals of tokens, asked once. */
export class TokenDecimals {
  readonly #known = new BoundedMap<string, number | null>(MAX_KNOWN);
  readonly #askedMs = new BoundedMap<string, number>(MAX_KNOWN);

  constructor(
    private readonly store: TokenStore,
    private readonly call: CallContract,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** A token is left out of the map where it does not say, and where no node could say now. */
  async read(networkId: number, tokens: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const unknown = [...tokens].filter((token) => !this.#known.has(keyOf(networkId, token)));
    if (unknown.length > 0) await this.#learn(networkId, unknown);
    const decimals = new Map<string, number>();
    for (const token of tokens) {
      const known = this.#known.get(keyOf(networkId, token)) ?? null;
      if (known !== null) decimals.set(token, known);
    }
    return decimals;
  }

  async #learn(networkId: number, tokens: readonly string[]): Promise<void> {
    const stored = await this.store.read(networkId, tokens);
    for (const [token, decimals] of stored) this.#known.set(keyOf(networkId, token), decimals);
    const sinceMs = this.nowMs() - ASK_AGAIN_MS;
    const isDue = (token: string) => (this.#askedMs.get(keyOf(networkId, token)) ?? sinceMs) <= sinceMs;
    const asked = tokens.filter((token) => !stored.has(token) && isDue(token)).slice(0, MAX_ASKED);
    const outcomes = await Promise.all(
      asked.map((to) => this.call(networkId, { to, data: DECIMALS, block: 'latest' })),
    );
    const learned = new Map<string, number | null>();
    for (const [index, token] of asked.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined || ('failed' in outcome && outcome.failed === 'unknown')) {
        this.#askedMs.set(keyOf(networkId, token), this.nowMs());
      } else learned.set(token, 'data' in outcome ? parseDecimals(outcome.data) : null);
    }
    if (learned.size === 0) return;
    await this.store.save(networkId, learned);
    for (const [token, decimals] of learned) this.#known.set(keyOf(networkId, token), decimals);
  }
}

function keyOf(networkId: number, token: string): string {
  return `${networkId} ${token}`;
}
