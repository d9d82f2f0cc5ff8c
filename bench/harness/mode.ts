/** How much is measured. Quick mode prints the same table from fewer rounds and smaller stores. */
export type Mode = {
  readonly quick: boolean;
  /** Many and short: the speed of a shared machine changes within seconds, and each ratio is taken within one round. */
  readonly rounds: number;
  readonly roundSeconds: number;
  /** Entities of a hundred webhooks each; the last size is compared with the first. */
  readonly growthEntities: readonly number[];
  readonly growthRequests: number;
  readonly bigEntityWebhooks: number;
  /** Of two hundred webhooks each. The caches have room for the first number of entities, but not for the second. */
  readonly coldEntities: number;
  readonly manyColdEntities: number;
  /** Rounds before the measurement. */
  readonly warmUps: number;
  /** More of them for cold requests: the code is compiled and the entities are read in the first fifty thousand requests. */
  readonly coldWarmUps: number;
  readonly deliveryRounds: number;
  readonly deliverySeconds: number;
  readonly growthRounds: number;
  readonly latencyRequests: number;
  readonly starts: number;
};

const FULL: Mode = {
  quick: false,
  rounds: 15,
  roundSeconds: 1,
  growthEntities: [100, 1_000, 10_000, 100_000],
  growthRequests: 1_000,
  bigEntityWebhooks: 1_000_000,
  coldEntities: 1_000,
  manyColdEntities: 5_000,
  warmUps: 2,
  coldWarmUps: 6,
  deliveryRounds: 11,
  deliverySeconds: 1,
  growthRounds: 5,
  latencyRequests: 500,
  starts: 9,
};

const QUICK: Mode = {
  quick: true,
  rounds: 8,
  roundSeconds: 0.3,
  growthEntities: [100, 1_000],
  growthRequests: 200,
  bigEntityWebhooks: 50_000,
  coldEntities: 1_000,
  manyColdEntities: 2_500,
  warmUps: 3,
  coldWarmUps: 8,
  deliveryRounds: 6,
  deliverySeconds: 0.3,
  growthRounds: 2,
  latencyRequests: 100,
  starts: 3,
};

export function modeOf(quick: boolean): Mode {
  return quick ? QUICK : FULL;
}
