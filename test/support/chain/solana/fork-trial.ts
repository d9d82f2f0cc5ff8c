import type { followCluster } from './followed-cluster.ts';

export type FollowedCluster = Awaited<ReturnType<typeof followCluster>>;

export type ForkOptions = {
  readonly slots: number;
  /** In percent of the blocks. */
  readonly forks?: number;
  /** Called after each poll. */
  readonly onPoll?: () => Promise<void>;
  /** Called if a poll throws, as when its instance is killed. */
  readonly onError?: (error: unknown) => Promise<void>;
};

/** Enough for every retraction, which needs 200 slots after the loss. */
const LAST_BLOCKS = 300;
const LAST_POLLS = 40;

/** Follows a network that forks, until everything is final, and compares the payments with it. */
export async function runForks(network: FollowedCluster, { slots, forks = 6, onPoll, onError }: ForkOptions) {
  const { cluster } = network;
  cluster.add([]);
  const start = cluster.tip.slot;
  await network.addSource('spl');
  await network.addSource('native');
  let early = 0;
  const poll = async () => {
    await network.poll().catch((error) => {
      if (onError === undefined) throw error;
      return onError(error);
    });
    if ((await network.final()) > (cluster.blocks[cluster.finalized]?.slot ?? 0)) early++;
    await onPoll?.();
  };
  while (cluster.tip.slot < start + slots) {
    cluster.grow();
    if (cluster.random.below(100) < forks) cluster.fork();
    if (cluster.random.below(10) < 6) await poll();
    if (cluster.random.below(20) === 0) await network.publish();
  }
  cluster.settle();
  for (let block = 0; block < LAST_BLOCKS; block++) {
    cluster.add([]);
    if (block % 8 === 0) await poll();
  }
  for (let last = 0; last < LAST_POLLS; last++) {
    cluster.add([]);
    await poll();
  }
  await network.publish();
  return { ...(await network.judge(start)), early, forks: cluster.forks };
}
