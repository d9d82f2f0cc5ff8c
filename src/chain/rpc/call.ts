/** A call with the reader of its result. The object itself is the key to its outcome, so that the outcome has a type. */
export type Call<Result> = {
  /** The purpose of the call in the metric. `send` sets it. */
  purpose?: Purpose;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly read: (result: unknown) => Result;
};

/** `other` is everything that the API and the decoder ask for. */
export type Purpose = 'head' | 'logs' | 'tail' | 'finality' | 'votes' | 'lost' | 'backfill' | 'other';
