import type { DeliveryFilter } from '../../../src/contract/deliveries/redelivery.ts';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import { PAUSE, PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { startRedelivery } from '../../../src/store/deliveries/redeliver/bulk.ts';
import { redeliver } from '../../../src/store/deliveries/redeliver/redeliver.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { changeNow } from '../fleet/settings.ts';
import { openSpan } from '../model/history.ts';
import { earlyAcknowledged } from '../oracle/reconcile.ts';
import type { Simulation } from '../simulation.ts';
import { asNobody } from '../world/owners.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Actions } from './operation.ts';

/** What entities and operators do with deliveries. */

/** Redeliveries are of recent deliveries, which other work may still concern. */
const RECENT = 20;
const FILTERS: readonly DeliveryFilter[] = [{ status: 'delivered' }, { status: 'failed' }, { since: 0 }];
/** Older than this is removed. */
const RETENTIONS_MS = [20_000, 60_000];

function redeliverOne(simulation: Simulation, draw: Random) {
  const { receivers, model, entityId } = simulation;
  const receipt = draw.pick(receivers.receipts.slice(-RECENT));
  if (receipt === undefined) return null;
  const { deliveryId, eventId, transactionHash } = receipt;
  const payment = model.payments.find(({ transaction }) => transaction.hash === transactionHash)?.name;
  const redelivery = { ...openSpan(world.nowMs), deliveryId };
  model.redeliveries.push(redelivery);
  simulation.request(
    draw,
    async ({ db, onWork }) => {
      await redeliver(db, entityId, deliveryId);
      onWork();
    },
    { span: redelivery },
  );
  return payment === undefined ? { eventId } : { payment };
}

function redeliverMany(simulation: Simulation, draw: Random) {
  const { model, entityId } = simulation;
  const filter = draw.pick(FILTERS) ?? {};
  const redelivery = { ...openSpan(world.nowMs), deliveryId: null };
  model.redeliveries.push(redelivery);
  simulation.request(
    draw,
    async ({ db, onTask }) => {
      await startRedelivery(db, entityId, filter, changeNow());
      onTask();
    },
    { span: redelivery },
  );
  return {};
}

function retain(simulation: Simulation, draw: Random) {
  const retention = openSpan(world.nowMs);
  simulation.model.retentions.push(retention);
  const olderThanMs = draw.pick(RETENTIONS_MS) ?? 0;
  simulation.request(
    draw,
    async ({ db }) => {
      const batches = new PacedBatches(db.engine, PAUSE.background);
      await prune(db, { olderThanMs, batches, keepsDays: true });
    },
    { span: retention },
  );
  return {};
}

/** Reads at one moment, without the faults of an instance, because the oracle compares it with the tables of that moment. */
function reconcile({ observer, entityId, model }: Simulation) {
  const read = async () => {
    const early = await earlyAcknowledged(observer, entityId);
    model.reconciliations.push(early);
  };
  // While a frozen process has the writer, nobody else gets in.
  asNobody(read).catch((error) => {
    if (!(error instanceof StoreUnavailableError)) throw error;
  });
  return {};
}

export const DELIVERY_ACTIONS: Actions = {
  redeliver: { weight: 6, begin: redeliverOne },
  'bulk-redeliver': { weight: 2, begin: redeliverMany },
  retention: { weight: 2, begin: retain },
  reconcile: { weight: 2, begin: reconcile },
};
