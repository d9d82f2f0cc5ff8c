import { backupRestored } from './backups.ts';
import { clockStepped } from './clock-steps.ts';
import type { Fault } from './fault.ts';
import { diskFull } from './full-disk.ts';
import { killedBeforeRecording, killedWhileAccepting, killedWhileDelivering } from './kills.ts';
import { oneOfTwoKilled } from './one-of-two.ts';
import { poisonRow } from './poison.ts';
import { postgresPaused, postgresRestarted, postgresStopped } from './postgres-outages.ts';
import { stalledInstance } from './stalled-instance.ts';
import { migratingTogether, toldToStop } from './stops.ts';

/** Everything that is done to Paybell, in the order of the table. */
export const FAULTS: readonly Fault[] = [
  killedWhileAccepting,
  killedWhileDelivering,
  killedBeforeRecording,
  postgresStopped,
  postgresRestarted,
  postgresPaused,
  diskFull,
  stalledInstance,
  oneOfTwoKilled,
  clockStepped,
  toldToStop,
  migratingTogether,
  poisonRow,
  backupRestored,
];
