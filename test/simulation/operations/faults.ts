import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import type { RECEIVER_MODES } from '../fleet/receivers.ts';
import type { Model } from '../model/model.ts';
import { URLS } from '../model/urls.ts';
import { spoilHints } from '../oracle/view.ts';
import type { Simulation } from '../simulation.ts';
import type { DatabaseFault } from '../store/faults.ts';
import { asNobody } from '../world/owners.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Action, Actions } from './operation.ts';

/** What goes wrong with receivers, instances, the database and the nodes of the network. */

const DOWN_MS = 5_000;
const LONGEST_FREEZE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** A fault of the database meets one of this many next calls. */
const CALLS_AHEAD = 30;
const SLOW_MS = 2_000;
/** Beyond the time that a claim leaves to acceptances under way, on a database whose timeout allows it. */
const LATE_COMMIT_MS = 16_000;
const NODE_FAULT_MS = 5_000;

function receiver(mode: (typeof RECEIVER_MODES)[number]): Action['begin'] {
  return ({ receivers }, draw) => {
    const postUrl = draw.pick(URLS) ?? '';
    receivers.setMode(postUrl, mode);
    return { postUrl };
  };
}

function kill({ fleet }: Simulation, draw: Random) {
  return fleet.kill(draw.below(fleet.size), draw.next() * DOWN_MS) ? {} : null;
}

function freeze({ fleet }: Simulation, draw: Random) {
  return fleet.freeze(draw.below(fleet.size), draw.next() * LONGEST_FREEZE_MS) ? {} : null;
}

/** Every instance ends, and the clock is set before the first one starts again. */
function outage({ fleet, model }: Simulation, draw: Random) {
  const byMs = draw.chance(0.3) ? 0 : (draw.chance(0.65) ? -1 : 1) * draw.next() * HOUR_MS;
  const downMs = 2_000 + draw.next() * DOWN_MS;
  for (let slot = 0; slot < fleet.size; slot++) fleet.kill(slot, downMs + draw.next() * 1_000);
  asNobody(() => world.schedule(() => setClock(model, byMs), 1_000));
  return {};
}

/** The clock is set while instances run. */
function clock({ model }: Simulation, draw: Random) {
  setClock(model, (draw.chance(0.65) ? -1 : 1) * draw.next() * HOUR_MS);
  return {};
}

function setClock({ clockSteps }: Model, byMs: number): void {
  world.clockStepMs += byMs;
  clockSteps.push({ atMs: world.nowMs, byMs });
  world.note(`clock ${byMs.toFixed(0)}`);
}

function database(on: DatabaseFault['on'], effect: DatabaseFault['effect']): Action['begin'] {
  return ({ fleet, shared }, draw) => {
    const faults = fleet.faultsOf(draw.below(fleet.size));
    const longestMs = shared.engine === 'postgres' && on === 'commit' ? LATE_COMMIT_MS : SLOW_MS;
    faults?.arm({ on, effect, after: draw.below(CALLS_AHEAD), delayMs: draw.next() * longestMs });
    return {};
  };
}

/** The hints of a head are wrong, as after a defect that nobody knows of: they may delay a delivery, and decide nothing. */
function hint(simulation: Simulation, draw: Random) {
  simulation.hintFaults.push(draw);
  // While a frozen process has the writer, nobody else can write.
  const spoilt = asNobody(() => spoilHints(simulation.observer, draw, 'one head'));
  spoilt.catch((error) => {
    if (!(error instanceof StoreUnavailableError)) throw error;
  });
  return {};
}

/** A node lags behind, limits the rate or is unreachable for some seconds. */
function node({ network }: Simulation, draw: Random) {
  const end = network.disturb(draw);
  asNobody(() => world.schedule(end, draw.next() * NODE_FAULT_MS));
  return {};
}

export const FAULT_ACTIONS: Actions = {
  'receiver-fine': { weight: 2, begin: receiver('fine') },
  'receiver-slow': { weight: 2, begin: receiver('slow') },
  'receiver-error': { weight: 4, begin: receiver('error') },
  'receiver-refused': { weight: 1, begin: receiver('refused') },
  'receiver-late': { weight: 1, begin: receiver('late') },
  'receiver-gone': { weight: 0.5, begin: receiver('gone') },
  kill: { weight: 3, begin: kill },
  freeze: { weight: 1, begin: freeze },
  outage: { weight: 1.5, begin: outage },
  clock: { weight: 0.5, begin: clock },
  'statement-slow': { weight: 3, begin: database('statement', 'slow') },
  'statement-fails': { weight: 2, begin: database('statement', 'fails') },
  'commit-slow': { weight: 3, begin: database('commit', 'slow') },
  'commit-fails': { weight: 3, begin: database('commit', 'fails') },
  'commit-unanswered': { weight: 3, begin: database('commit', 'unanswered') },
  node: { weight: 2, begin: node },
  hint: { weight: 0.5, begin: hint },
};
