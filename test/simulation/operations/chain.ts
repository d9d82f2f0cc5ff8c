import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { createSource, deleteSource } from '../../../src/store/chain/sources/sources.ts';
import { readDefinition, type SourceUpdate, updateSource } from '../../../src/store/chain/sources/update.ts';
import { ruleAmountOf } from '../fleet/amounts.ts';
import { changeNow } from '../fleet/settings.ts';
import { FIRST_CONTRACT, LATER_CONTRACTS } from '../model/contracts.ts';
import type { Model, PaymentModel } from '../model/model.ts';
import { readSourceIds } from '../oracle/view.ts';
import type { Simulation } from '../simulation.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Actions, Operation } from './operation.ts';

/** What happens on the network. */

const LATER_SHARE = 0.4;
/** Sources that are created at the same time. */
const SOURCES_AT_ONCE = 2;
const MOST_SOURCES = 10;
const DROPPED_SHARE = 0.5;

/** Those that the entity follows with its next sources. */
function nextContracts({ followed }: Model): number[] {
  return LATER_CONTRACTS.filter((contract) => !followed.has(contract)).slice(0, SOURCES_AT_ONCE);
}

function block({ network }: Simulation) {
  network.append();
  return {};
}

function payment({ network, model }: Simulation, draw: Random, { index }: Operation) {
  // The contracts that are followed next have payments first.
  const contract = draw.chance(LATER_SHARE) ? (draw.pick(nextContracts(model)) ?? FIRST_CONTRACT) : FIRST_CONTRACT;
  const { transaction, fields } = network.newPayment(contract);
  model.payments.push({
    ...{ name: `p${index}`, transaction, contract, minedAtMs: world.nowMs, heldEventId: null },
    ruleAmount: ruleAmountOf(network.networkId, fields),
  });
  network.append([transaction]);
  return { payment: `p${index}` };
}

/** A reorg removes a payment, and some others with it. */
function drop({ network, model }: Simulation, draw: Random) {
  const { recent } = network;
  const dropped = draw.pick(model.payments.filter(({ transaction }) => recent.has(transaction.hash)));
  if (dropped === undefined) return null;
  const { hash } = dropped.transaction;
  network.reorg(network.maxReorgDepth, (one) => one === hash || draw.chance(DROPPED_SHARE), draw);
  return { payment: dropped.name };
}

/** A reorg that removes nothing: payments move to other blocks. */
function reorder({ network }: Simulation, draw: Random) {
  network.reorg(1 + draw.below(network.maxReorgDepth), () => false, draw);
  return {};
}

/** A transaction without a block is in the next one. */
function bringBack({ network, model }: Simulation, draw: Random) {
  const waiting = model.payments.filter(
    ({ transaction }) => !network.isCanonical(transaction) && network.mayAppend(transaction),
  );
  const back: PaymentModel | undefined = draw.pick(waiting);
  if (back === undefined) return null;
  network.append([back.transaction]);
  back.minedAtMs = Math.min(back.minedAtMs, world.nowMs);
  return { payment: back.name };
}

/** The entity wants the payments to more contracts, with those that have happened. */
function follow(simulation: Simulation, draw: Random) {
  const { model, network, entityId } = simulation;
  const next = nextContracts(model);
  for (const contract of next) {
    simulation.request(draw, async ({ db }) => {
      const { source } = await createSource(db, entityId, network.source(contract), MOST_SOURCES, changeNow());
      model.followed.add(contract);
      model.sources.set(contract, source.sourceId);
    });
  }
  return next.length === 0 ? null : {};
}

/** The entity no longer wants the payments to a contract. It may follow the contract again later. */
function unfollow(simulation: Simulation, draw: Random) {
  const { model, entityId } = simulation;
  const [contract, sourceId] = draw.pick([...model.sources]) ?? [];
  if (contract === undefined || sourceId === undefined) return null;
  model.sources.delete(contract);
  model.unfollowed.add(contract);
  simulation.request(draw, async ({ db }) => {
    await deleteSource(db, entityId, sourceId, changeNow());
    model.followed.delete(contract);
  });
  return {};
}

/** A change of one of the sources that there are when the request arrives. None makes Paybell want other payments. */
function changeSource(update: (definition: SourceDefinition, simulation: Simulation) => SourceUpdate) {
  return (simulation: Simulation, draw: Random) => {
    const { entityId } = simulation;
    const number = draw.below(MOST_SOURCES);
    simulation.request(draw, async ({ db }) => {
      const sourceIds = await readSourceIds(db);
      const sourceId = sourceIds[number % sourceIds.length] ?? '';
      const found = await readDefinition(db, entityId, sourceId);
      if (found === null) return;
      const { definition, revision } = found;
      await updateSource(db, entityId, sourceId, revision, update(definition, simulation), changeNow());
    });
    return {};
  };
}

/** The same payments are wanted under both definitions. */
function redefine(definition: SourceDefinition, { network }: Simulation): SourceUpdate {
  const minAmount = definition.minAmount === undefined ? '0' : undefined;
  return { prepared: { ...network.source(FIRST_CONTRACT), definition: { ...definition, minAmount } } };
}

export const CHAIN_ACTIONS: Actions = {
  block: { weight: 8, begin: block },
  follow: { weight: 2, begin: follow },
  unfollow: { weight: 1, begin: unfollow },
  'pause-source': { weight: 1, begin: changeSource(() => ({ isPaused: true })) },
  'resume-source': { weight: 2, begin: changeSource(() => ({ isPaused: false })) },
  'redefine-source': { weight: 2, begin: changeSource(redefine) },
  payment: { weight: 9, begin: payment },
  drop: { weight: 5, begin: drop },
  reorder: { weight: 2, begin: reorder },
  'bring-back': { weight: 6, begin: bringBack },
};
