import type { Fault } from './fault.ts';
import { backupRestored } from './trials/backups.ts';
import { networkReorganisedDeeply } from './trials/chain/deep-reorg.ts';
import { killedWithInvoices } from './trials/chain/invoice-kills.ts';
import { killedWhileFollowing } from './trials/chain/kills.ts';
import { cursorLost } from './trials/chain/lost-cursor.ts';
import { storeLostWhileFollowing } from './trials/chain/store-outages.ts';
import { oneOfTwoFollowersStopped } from './trials/chain/takeovers.ts';
import { clockStepped } from './trials/clock-steps.ts';
import { killedDuringFanOut, outageDuringFanOut } from './trials/fan-outs.ts';
import { diskFull } from './trials/full-disk.ts';
import { killedBeforeRecording, killedWhileAccepting, killedWhileDelivering } from './trials/kills.ts';
import { killedWhileManaging, takenOverWhileManaging } from './trials/management/kills.ts';
import { oneOfThreeKilled } from './trials/one-of-three.ts';
import { oneOfTwoKilled } from './trials/one-of-two.ts';
import { killedWhileOrdering, restartedWhileOrdering } from './trials/order/interruptions.ts';
import { rowsPoisoned } from './trials/poison-rows.ts';
import { postgresPaused, postgresRestarted, postgresStopped } from './trials/postgres-outages.ts';
import { proxyStopped } from './trials/proxy-outages.ts';
import { instanceStalled } from './trials/stalled-instance.ts';
import { migratedByTwo, stoppedBySigterm } from './trials/stops.ts';
import { workerKilled } from './trials/workers.ts';

/** In the order of the table in RESULTS.md. */
export const FAULTS: readonly Fault[] = [
  killedWhileAccepting,
  killedWhileDelivering,
  killedBeforeRecording,
  killedDuringFanOut,
  killedWhileOrdering,
  restartedWhileOrdering,
  killedWhileManaging,
  takenOverWhileManaging,
  postgresStopped,
  postgresRestarted,
  postgresPaused,
  outageDuringFanOut,
  diskFull,
  proxyStopped,
  instanceStalled,
  oneOfTwoKilled,
  oneOfThreeKilled,
  workerKilled,
  clockStepped,
  stoppedBySigterm,
  migratedByTwo,
  rowsPoisoned,
  backupRestored,
  killedWhileFollowing,
  killedWithInvoices,
  oneOfTwoFollowersStopped,
  storeLostWhileFollowing,
  cursorLost,
  networkReorganisedDeeply,
];
