import type { Fault } from './fault.ts';
import { killedBeforeSettling, killedWhileAccepting, killedWhileDelivering } from './kills.ts';

/** Everything that is done to Paybell, in the order of the table. */
export const FAULTS: readonly Fault[] = [killedWhileAccepting, killedWhileDelivering, killedBeforeSettling];
