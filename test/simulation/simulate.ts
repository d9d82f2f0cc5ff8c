import type { Invoice } from '../../src/contract/chain/invoices.ts';
import type { Feed } from '../../src/contract/endpoints/feed.ts';
import { endpointId } from '../../src/domain/ids.ts';
import { readInvoice } from '../../src/store/chain/invoices/view.ts';
import { createSource } from '../../src/store/chain/sources/sources.ts';
import type { Database } from '../../src/store/database/database.ts';
import { readFeed } from '../../src/store/endpoints/read-feed.ts';
import { restartIds } from '../../src/store/new-id.ts';
import { createEntity } from '../../src/store/tenants/entities.ts';
import { registerWebhooks } from '../../src/store/webhooks/register.ts';
import { wrongDeliveryCounters } from '../support/delivery-counters.ts';
import { Fleet } from './fleet/fleet.ts';
import type { Network } from './fleet/network.ts';
import { type FamilyName, newNetwork } from './fleet/new-network.ts';
import { Receivers } from './fleet/receivers.ts';
import { box, changeNow, simulatedDialect } from './fleet/settings.ts';
import { heal } from './healing.ts';
import { FIRST_CONTRACT } from './model/contracts.ts';
import { History } from './model/history.ts';
import { INVOICED, LATE, PAID } from './model/model.ts';
import { FIRST_ORDERED_URLS, LASTING_URLS, URLS } from './model/urls.ts';
import { changeEndpoint } from './operations/endpoints.ts';
import type { Actions, Operation } from './operations/operation.ts';
import { register } from './operations/webhooks.ts';
import { Evidence } from './oracle/evidence.ts';
import type { Law } from './oracle/law.ts';
import { type Judgement, judge } from './oracle/laws.ts';
import { readEndpointNos, readView } from './oracle/view.ts';
import { type Occurrence, Simulation } from './simulation.ts';
import { DatabaseFaults } from './store/faults.ts';
import { InstanceDatabase } from './store/instance-database.ts';
import { Notifications } from './store/notifications.ts';
import type { OpenedStore } from './store/sqlite.ts';
import { Random } from './world/random.ts';
import { world } from './world/world.ts';

export type RunOptions = {
  readonly seed: number;
  readonly network: FamilyName;
  readonly operations: readonly Operation[];
  readonly instances: number;
  readonly actions: Actions;
  readonly laws?: readonly Law[];
  readonly openStore: () => Promise<OpenedStore>;
  readonly isTraced?: boolean;
};

export type RunResult = Judgement & {
  readonly hash: string;
  readonly occurrences: readonly Occurrence[];
  readonly receipts: number;
  readonly virtualMs: number;
  readonly unexpected: readonly string[];
  readonly trace: readonly string[];
  readonly evidence: Evidence;
};

/** An event kind that nothing is published under: its webhooks keep endpoints in existence. */
const UNUSED = 'Unused';
/** With URLs between them that no webhook of their event has, so that webhooks can move in both directions. */
const FIRST_WEBHOOKS = [
  ...[1, 3, 4, 5, 7].map((url) => ({ event: 'AgreementSignedUp', url })),
  ...[1, 3, 4].map((url) => ({ event: 'ScheduledAgreementCancel', url })),
  ...[1, 4].map((url) => ({ event: 'AgreementCancelled', url })),
  ...[0, 2, 5, 6].map((url) => ({ event: PAID, url })),
  ...[INVOICED, LATE].map((event) => ({ event, url: 0 })),
];
const LIST_LIMIT = 10_000;
/** So that an operation draws other numbers than the schedule after it. */
const SCHEDULE = 0x5c4ed;

/** No faults, and no waits of its own. */
class NoFaults extends DatabaseFaults {
  override latencyMs(): number {
    return 0;
  }
}

/** Errors that nothing handles: a service ends with them. */
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => {
  unhandled.push(`unhandled: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
});

/** One run from its first operation to the verdict. */
export async function simulate(options: RunOptions): Promise<RunResult> {
  const store = await options.openStore();
  world.begin(options.seed, options.isTraced);
  restartIds();
  const observer = new InstanceDatabase({
    shared: store.db,
    engine: store.db.engine,
    dialect: simulatedDialect(store.db.dialect),
    owner: { name: 'observer', isAlive: true, frozenUntilMs: 0 },
    faults: new NoFaults(),
    notifications: new Notifications(),
  });
  const network = newNetwork(options.network, options.seed);
  const receivers = new Receivers();
  const entityId = await world.until(prepare(observer, network));
  const fleet = new Fleet({ size: options.instances, shared: store.db, receivers, network });
  const simulation = new Simulation({ shared: store.db, observer, entityId, fleet, network, receivers });
  await fleet.start();
  await begin(simulation);
  const startedAtMs = world.nowMs;
  for (const operation of options.operations) {
    await world.pass(startedAtMs + operation.atMs - world.nowMs);
    // The schedule after an operation does not depend on those before it, so that a shorter list fails in the same way.
    world.random = new Random(operation.seed ^ SCHEDULE);
    carryOut(simulation, operation, options.actions);
  }
  const healed = await heal(simulation, observer);
  const evidence = new Evidence(simulation, {
    ...healed,
    view: await world.until(readView(observer)),
    wrongCounters: await world.until(wrongDeliveryCounters(observer)),
    feeds: await world.until(readFeeds(observer, entityId)),
    invoices: await world.until(readInvoices(observer, entityId)),
  });
  const judgement = judge(evidence, options.laws);
  const { hash, nowMs, trace } = world;
  fleet.stop();
  await store.remove();
  const { occurrences } = simulation;
  const unexpected = [...simulation.unexpected, ...unhandled.splice(0)];
  return {
    ...judgement,
    hash,
    virtualMs: nowMs,
    trace,
    occurrences,
    unexpected,
    receipts: receivers.receipts.length,
    evidence,
  };
}

/** An entity with a source of payments, and with endpoints that keep their settings. */
async function prepare(db: Database, network: Network): Promise<string> {
  const { entityId } = await db.transaction((queries) => createEntity(queries, box, 'simulation', changeNow()));
  await createSource(db, entityId, network.source(FIRST_CONTRACT), 10, changeNow());
  for (const postUrl of LASTING_URLS) {
    const pairs = [{ networkId: network.networkId, event: UNUSED }];
    await registerWebhooks(db, entityId, { postUrl, pairs, entityWebhookLimit: 1_000 }, changeNow());
  }
  for (const postUrl of FIRST_ORDERED_URLS) await changeEndpoint(db, entityId, postUrl, { ordering: 'agreement' });
  return entityId;
}

async function begin(simulation: Simulation): Promise<void> {
  const draw = new Random(1);
  for (const postUrl of FIRST_ORDERED_URLS) simulation.model.ordering.set(postUrl, new History(true));
  for (const [index, { event, url }] of FIRST_WEBHOOKS.entries()) {
    register(simulation, draw, `first${index}`, event, URLS[url] ?? '');
  }
  await world.pass(1_000);
}

function carryOut(simulation: Simulation, operation: Operation, actions: Actions): void {
  const action = actions[operation.name];
  if (action === undefined) return;
  const scope = action.begin(simulation, new Random(operation.seed), operation);
  world.note(`${operation.index} ${operation.name} ${scope === null ? '-' : JSON.stringify(scope)}`);
  if (scope !== null) simulation.occurrences.push({ name: operation.name, atMs: world.nowMs, scope });
}

async function readInvoices(db: Database, entityId: string): Promise<Map<string, Invoice>> {
  const { invoices } = await readView(db);
  const shown = new Map<string, Invoice>();
  for (const { invoiceId } of invoices) {
    const invoice = await readInvoice(db, entityId, invoiceId);
    if (invoice !== null) shown.set(invoiceId, invoice);
  }
  return shown;
}

async function readFeeds(db: Database, entityId: string): Promise<Map<string, Feed>> {
  const feeds = new Map<string, Feed>();
  for (const endpointNo of await readEndpointNos(db)) {
    const page = await readFeed(db, { entityId, endpointNo }, { after: 0, limit: LIST_LIMIT });
    if (page !== null) feeds.set(endpointId(endpointNo), page.feed);
  }
  return feeds;
}
