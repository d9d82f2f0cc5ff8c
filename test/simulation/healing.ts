import { endpointId } from '../../src/domain/ids.ts';
import { updateSource } from '../../src/store/chain/sources/update.ts';
import type { Database } from '../../src/store/database/database.ts';
import { updateEndpoint } from '../../src/store/endpoints/change.ts';
import { resumeWebhook } from '../../src/store/webhooks/suspension.ts';
import { box, changeNow } from './fleet/settings.ts';
import {
  readEndpointNos,
  readOverdue,
  readProgress,
  readSourceIds,
  readTimesAhead,
  readWebhookIds,
  readWorkLeft,
  releaseNetworks,
  spoilHints,
  type TimesAhead,
  type WorkLeft,
} from './oracle/view.ts';
import type { Simulation } from './simulation.ts';
import { world } from './world/world.ts';

/** After the last operation everything is in order again, and time passes until nothing is left to do. */

/** Longer than an instance is down. */
const RESTART_MS = 20_000;
const BLOCK_MS = 1_500;
const LOOK_MS = 5_000;
/** Work that a hint hides has to be found after five minutes, and a retry comes after four. */
const STANDSTILL_MS = 400_000;
const LONGEST_MS = 3_600_000;

export type Healed = {
  readonly workLeft: WorkLeft;
  readonly timesAhead: TimesAhead;
  /** Deliveries that nothing has claimed for longer than any hint may hide them. */
  readonly overdue: readonly string[];
};

export async function heal(simulation: Simulation, observer: Database): Promise<Healed> {
  const { fleet, receivers, network } = simulation;
  fleet.heal();
  receivers.heal();
  network.heal();
  await world.pass(RESTART_MS);
  const { networkLease, lease } = await world.until(readTimesAhead(observer));
  await world.until(releaseNetworks(observer));
  await world.until(openAll(simulation, observer));
  // Nothing but the auditor corrects these: no event is published from now on.
  for (const draw of simulation.hintFaults.slice(0, 1)) await world.until(spoilHints(observer, draw, 'all heads'));
  const { head } = network;
  const { least, most } = network.lastRounds;
  const isFinal = async () => (await world.until(readProgress(observer))).final >= head;
  for (let round = 0; round < least || (round < most && !(await isFinal())); round++) {
    network.append();
    await world.pass(BLOCK_MS);
  }
  const workLeft = await settle(simulation, observer);
  const overdue = await world.until(readOverdue(observer));
  const ahead = await world.until(readTimesAhead(observer));
  // The auditor has had the time for a pass: of two steps of the clock within a second, nothing else notices any.
  const timesAhead = { ...ahead, networkLease, lease };
  const leftAhead = Math.max(...Object.values(ahead));
  if (isDone(workLeft) || leftAhead <= 0) return { workLeft, timesAhead, overdue };
  // What was to happen within minutes by a clock that was set back since is due when the clock is right again.
  world.clockStepMs += leftAhead;
  const later = { workLeft: await settle(simulation, observer), overdue: await world.until(readOverdue(observer)) };
  return { workLeft: later.workLeft, timesAhead, overdue: [...overdue, ...later.overdue] };
}

/** Webhooks whose registration or deletion was never answered, too. */
async function openAll({ entityId, fleet }: Simulation, observer: Database): Promise<void> {
  for (const no of await readEndpointNos(observer)) {
    const target = { db: observer, box, entityId, endpointId: endpointId(no) };
    await updateEndpoint(target, { paused: false }, changeNow());
  }
  for (const sourceId of await readSourceIds(observer)) {
    await updateSource(observer, entityId, sourceId, 0, { isPaused: false }, changeNow());
  }
  for (const webhookId of await readWebhookIds(observer)) {
    await resumeWebhook(observer, entityId, webhookId, changeNow());
  }
  for (const { onWork } of fleet.running) onWork();
}

/** Passes time until nothing is left, or nothing has happened for so long that nothing will. */
async function settle({ network, receivers }: Simulation, observer: Database): Promise<WorkLeft> {
  const { head } = network;
  const startedAtMs = world.nowMs;
  let changedAtMs = world.nowMs;
  let last = '';
  for (;;) {
    const left = await world.until(readWorkLeft(observer));
    const { tip, unconfirmed } = await world.until(readProgress(observer));
    // Paybell asks the nodes again about a payment that some of them denied.
    if (isDone(left) && tip >= head && unconfirmed === 0) return left;
    const now = JSON.stringify([left, tip, unconfirmed, receivers.receipts.length]);
    if (now !== last) changedAtMs = world.nowMs;
    last = now;
    if (world.nowMs - changedAtMs > STANDSTILL_MS || world.nowMs - startedAtMs > LONGEST_MS) return left;
    await world.pass(LOOK_MS);
  }
}

function isDone(left: WorkLeft): boolean {
  return Object.values(left).every((count) => count === 0);
}
