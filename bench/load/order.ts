import type { Caller } from '../harness/paybell-api.ts';

/** Requests number `from`, `from + 1` …: each by another caller, and with another query after each round of callers. */
export type Load = {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** Templates of `harness/event-bodies.ts`: each request has the body of its number. */
  readonly bodies?: readonly string[];
  readonly callers: readonly Caller[];
  /** With their question mark, or empty. */
  readonly queries?: readonly string[];
  readonly from?: number;
  readonly seconds: number;
  readonly connections?: number;
};

/** The input of a load generator: with an amount it ends after so many responses, otherwise after the seconds. */
export type Order = Load & { readonly amount?: number };
