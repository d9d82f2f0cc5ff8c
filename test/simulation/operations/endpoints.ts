import { endpointId } from '../../../src/domain/ids.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { entityKey, readInteger } from '../../../src/store/database/sql.ts';
import { type CheckedUpdate, rotateEndpointSecret, updateEndpoint } from '../../../src/store/endpoints/change.ts';
import { readFeed, readLastSequences } from '../../../src/store/endpoints/read-feed.ts';
import { rotateSecret } from '../../../src/store/tenants/secrets.ts';
import type { Instance } from '../fleet/instance.ts';
import { box, changeNow } from '../fleet/settings.ts';
import { LASTING_URLS, URLS } from '../model/urls.ts';
import type { Simulation } from '../simulation.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Action, Actions } from './operation.ts';

/** What entities do with the endpoints of their webhooks, and with their secrets. */

/** Null while no webhook has the URL. */
async function findEndpointNo(db: Database, entityId: string, postUrl: string): Promise<number | null> {
  const from = 'from endpoints where entity_id = $1 and post_url = $2 and removed_ms = 0';
  const no = await readInteger(db, 'max(no)', from, [entityKey(db.dialect, entityId), postUrl]);
  return no === 0 ? null : no;
}

/** Null while no webhook has the URL. */
export async function findEndpoint(db: Database, entityId: string, postUrl: string): Promise<string | null> {
  const no = await findEndpointNo(db, entityId, postUrl);
  return no === null ? null : endpointId(no);
}

export async function changeEndpoint(
  db: Database,
  entityId: string,
  postUrl: string,
  update: CheckedUpdate,
): Promise<void> {
  const found = await findEndpoint(db, entityId, postUrl);
  if (found !== null) await updateEndpoint({ db, box, entityId, endpointId: found }, update, changeNow());
}

async function requestChange(
  { db, onWork }: Instance,
  entityId: string,
  postUrl: string,
  update: CheckedUpdate,
): Promise<void> {
  await changeEndpoint(db, entityId, postUrl, update);
  onWork();
}

function changing(update: (draw: Random) => CheckedUpdate): Action['begin'] {
  return (simulation, draw) => {
    const postUrl = draw.pick(URLS) ?? '';
    const wanted = update(draw);
    simulation.request(draw, (instance) => requestChange(instance, simulation.entityId, postUrl, wanted));
    return { postUrl };
  };
}

function order(simulation: Simulation, draw: Random) {
  const postUrl = draw.pick(LASTING_URLS) ?? '';
  const isOrdered = draw.chance(0.8);
  const history = simulation.model.orderingOf(postUrl);
  const span = history.begin(isOrdered, world.nowMs);
  const update = { ordering: isOrdered ? ('agreement' as const) : ('none' as const) };
  simulation.request(draw, (instance) => requestChange(instance, simulation.entityId, postUrl, update), {
    span,
    onRejected: () => history.withdraw(span),
  });
  return { postUrl };
}

function rotate(simulation: Simulation, draw: Random) {
  const { entityId } = simulation;
  const postUrl = draw.pick(URLS) ?? '';
  const isOwn = draw.chance(0.5);
  simulation.request(draw, async ({ db }) => {
    if (!isOwn) {
      await rotateSecret(db, box, entityId, 1, changeNow());
      return;
    }
    const found = await findEndpoint(db, entityId, postUrl);
    if (found !== null) await rotateEndpointSecret({ db, box, entityId, endpointId: found }, 1, changeNow());
  });
  return isOwn ? { postUrl } : {};
}

/** Reads the newest entries, as a receiver that repairs its gaps does. */
function readNewest(simulation: Simulation, draw: Random) {
  const { entityId, model } = simulation;
  const postUrl = draw.pick(URLS) ?? '';
  const count = 1 + draw.below(10);
  simulation.request(draw, async ({ db }) => {
    const endpointNo = await findEndpointNo(db, entityId, postUrl);
    if (endpointNo === null) return;
    const [last = 0] = await readLastSequences(db, [{ entityId, endpointNo }]);
    const position = { after: Math.max(0, last - count), limit: count };
    const page = await readFeed(db, { entityId, endpointNo }, position);
    for (const { deliveryId, status } of page?.feed.deliveries ?? []) {
      if (deliveryId !== null && (status === 'pending' || status === 'held')) model.shown.add(deliveryId);
    }
  });
  return { postUrl };
}

export const ENDPOINT_ACTIONS: Actions = {
  pause: { weight: 5, begin: changing(() => ({ paused: true })) },
  unpause: { weight: 6, begin: changing(() => ({ paused: false })) },
  headers: { weight: 2, begin: changing((draw) => ({ headers: { 'x-region': draw.chance(0.5) ? 'eu' : null } })) },
  order: { weight: 3, begin: order },
  rotate: { weight: 2, begin: rotate },
  feed: { weight: 3, begin: readNewest },
};
