/**
 * A call with the reader of its result. The call object is the key to its outcome, which gives the outcome its type.
 */
export type Call<Result> = {
  /** The purpose of the call in the metric. `send` sets it. */
  purpose?: Purpose;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly read: (result: unknown) => Result;
};

/** `other`: calls of the API and of the decoder. */
export type Purpose = 'head' | 'logs' | 'tail' | 'finality' | 'votes' | 'lost' | 'backfill' | 'other';
