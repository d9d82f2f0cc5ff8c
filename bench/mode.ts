/** How much is measured. Quick mode prints the same table from fewer rounds and smaller stores. */
export type Mode = {
  readonly quick: boolean;
  readonly rounds: number;
  readonly roundSeconds: number;
  /** Entities of a hundred webhooks each; the first is what the others are compared with. */
  readonly growthEntities: readonly number[];
  readonly growthRequests: number;
  readonly bigEntityWebhooks: number;
  /** Of two hundred webhooks each. Those of the first number fit into memory, those of the second do not. */
  readonly coldEntities: number;
  readonly manyColdEntities: number;
  /** In rounds: their code is compiled, and their entities are read, over the first fifty thousand requests. */
  readonly coldWarmUps: number;
  readonly deliverySeconds: number;
  readonly latencyRequests: number;
  readonly starts: number;
};

const FULL: Mode = {
  quick: false,
  rounds: 5,
  roundSeconds: 3,
  growthEntities: [100, 1_000, 10_000, 100_000],
  growthRequests: 1_000,
  bigEntityWebhooks: 1_000_000,
  coldEntities: 1_000,
  manyColdEntities: 5_000,
  coldWarmUps: 2,
  deliverySeconds: 3,
  latencyRequests: 500,
  starts: 9,
};

const QUICK: Mode = {
  quick: true,
  rounds: 3,
  roundSeconds: 1,
  growthEntities: [100, 1_000],
  growthRequests: 200,
  bigEntityWebhooks: 50_000,
  coldEntities: 1_000,
  manyColdEntities: 2_500,
  coldWarmUps: 4,
  deliverySeconds: 0.6,
  latencyRequests: 100,
  starts: 3,
};

export function modeOf(quick: boolean): Mode {
  return quick ? QUICK : FULL;
}
