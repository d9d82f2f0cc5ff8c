import type { Fault } from './fault.ts';
import { killedBeforeSettling, killedWhileAccepting, killedWhileDelivering } from './kills.ts';
import { postgresPaused, postgresRestarted, postgresStopped } from './postgres-outages.ts';

/** Everything that is done to Paybell, in the order of the table. */
export const FAULTS: readonly Fault[] = [
  killedWhileAccepting,
  killedWhileDelivering,
  killedBeforeSettling,
  postgresStopped,
  postgresRestarted,
  postgresPaused,
];
