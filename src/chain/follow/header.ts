/** The part of a block's header that the follower reads. */
export type Header = {
  readonly number: number;
  readonly hash: string;
  /** Null if the node did not send it. */
  readonly parentHash: string | null;
  readonly timestampS: number;
};
