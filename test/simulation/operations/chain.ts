import { MAX_REORG_DEPTH } from '../fleet/network.ts';
import type { PaymentModel } from '../model/model.ts';
import type { Simulation } from '../simulation.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Actions, Operation } from './operation.ts';

/** What happens on the network. */

export const CONTRACT = 1;
const DROPPED_SHARE = 0.5;

function block({ network }: Simulation) {
  network.chain.mine();
  return {};
}

function payment({ network, model }: Simulation, _: Random, { index }: Operation) {
  const transaction = network.transaction(CONTRACT);
  model.payments.push({ name: `p${index}`, transaction, minedAtMs: world.nowMs, heldEventId: null });
  network.chain.mine([transaction]);
  return { payment: `p${index}` };
}

/** A reorg removes a payment, and some others with it. */
function drop({ network, model }: Simulation, draw: Random) {
  const recent = new Set(network.recent.map(({ hash }) => hash));
  const dropped = draw.pick(model.payments.filter(({ transaction }) => recent.has(transaction.hash)));
  if (dropped === undefined) return null;
  const { hash } = dropped.transaction;
  network.reorg(MAX_REORG_DEPTH, (one) => one.hash === hash || draw.chance(DROPPED_SHARE), draw);
  return { payment: dropped.name };
}

/** A reorg that removes nothing: payments move to other blocks. */
function reorder({ network }: Simulation, draw: Random) {
  network.reorg(1 + draw.below(MAX_REORG_DEPTH), () => false, draw);
  return {};
}

/** A transaction without a block is in the next one. */
function bringBack({ network, model }: Simulation, draw: Random) {
  const waiting = model.payments.filter(({ transaction }) => !network.isCanonical(transaction));
  const back: PaymentModel | undefined = draw.pick(waiting);
  if (back === undefined) return null;
  network.chain.mine([back.transaction]);
  back.minedAtMs = Math.min(back.minedAtMs, world.nowMs);
  return { payment: back.name };
}

export const CHAIN_ACTIONS: Actions = {
  block: { weight: 8, begin: block },
  payment: { weight: 9, begin: payment },
  drop: { weight: 5, begin: drop },
  reorder: { weight: 2, begin: reorder },
  'bring-back': { weight: 6, begin: bringBack },
};
