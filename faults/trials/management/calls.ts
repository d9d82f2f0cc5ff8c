import type { PublicKeyList } from '../../../src/contract/secrets.ts';
import type { DeliveryState } from '../../../test/support/deliveries.ts';
import type { Client } from '../../../test/support/service.ts';
import { checkSignature } from '../../../test/support/signatures.ts';
import { countRows, withStore } from '../../harness/store-audit.ts';
import { eventually, waitUntil } from '../../harness/waiting.ts';
import { type Site, SUBJECT } from './site.ts';

/** A call of the API that changes what waits. The server is killed while it works on it. */
export type ManagementCall = {
  readonly name: string;
  /** Before the backlog is accepted. */
  readonly prepare?: (site: Site, client: Client) => Promise<void>;
  /** After it is accepted, while the receivers wait. */
  readonly ready?: (site: Site, client: Client) => Promise<void>;
  /** The kill comes within this time. */
  readonly withinMs: number;
  readonly begin: (site: Site, client: Client) => Promise<unknown>;
  /** Repeats the call, as a client has to that got no response, and says what it demands. */
  readonly finish: (site: Site, client: Client) => Promise<void>;
  /** When nothing is leased by the dead instance any more. */
  readonly check?: (site: Site) => Promise<void>;
};

const MOVED = '/moved';
const MOVED_TOO = '/moved-too';
/** Each on a port that no other webhook uses first, so that the move changes the destination. */
const urlOf = ({ testbed }: Site, path: string) => testbed.ledger.url(path, path === MOVED ? 1 : 2);

function move(site: Site, client: Client, path: string): Promise<Response> {
  return client.request('PATCH', site.subjectPath, JSON.stringify({ postUrl: urlOf(site, path) }));
}

async function finishMove(site: Site, client: Client): Promise<void> {
  await site.expectStatus('a repeated move', await move(site, client, MOVED), 200);
  site.testbed.receivers.set(SUBJECT, [SUBJECT, MOVED, MOVED_TOO]);
}

function resume({ subjectPath }: Site, client: Client): Promise<Response> {
  return client.request('POST', `${subjectPath}/resume`);
}

const resumeCall: ManagementCall = {
  name: 'resume',
  prepare: (site, client) => site.suspendSubject(client),
  withinMs: 60,
  begin: resume,
  finish: async (site, client) => site.expectStatus('a repeated resume', await resume(site, client), 200),
};

/** Paybell suspends by itself, after a 410. */
const suspendCall: ManagementCall = {
  name: 'suspend',
  withinMs: 60,
  begin: async (site) => {
    site.subjectStatus = 410;
    site.mayRepeat = true;
  },
  finish: async (site, client) => {
    await waitUntil('the webhook is suspended', () => site.isSuspended(client));
    const ofSubject = (await site.deliveries()).filter(({ webhookId }) => webhookId === site.subjectId);
    const others = ofSubject.filter(({ status }) => status !== 'held').length;
    if (others > 0) site.testbed.violations.push(`${others} deliveries of a suspended webhook are not held`);
    site.subjectStatus = 200;
    await site.expectStatus('resume', await resume(site, client), 200);
  },
};

/** Every attempt suspends the webhook, and resumes come all the while. */
const suspendAndResume: ManagementCall = {
  name: 'suspend and resume at once',
  withinMs: 120,
  begin: async (site, client) => {
    site.subjectStatus = 410;
    site.mayRepeat = true;
    for (let call = 0; call < 40; call++) await resume(site, client);
  },
  finish: async (site, client) => {
    site.subjectStatus = 200;
    // An attempt whose 410 is being recorded may suspend the webhook once more after a resume.
    const isDone = async () => {
      await site.expectStatus('resume', await resume(site, client), 200);
      const isWaiting = (delivery: DeliveryState) =>
        delivery.webhookId === site.subjectId && delivery.dueMs !== null && delivery.leaseMs <= Date.now();
      return !(await site.deliveries()).some(isWaiting);
    };
    await eventually(isDone, { everyMs: 200 });
  },
};

const moveCall: ManagementCall = {
  name: 'move',
  withinMs: 40,
  begin: (site, client) => move(site, client, MOVED),
  finish: finishMove,
};

const moveTwice: ManagementCall = {
  name: 'two moves at once',
  withinMs: 40,
  begin: (site, client) => Promise.all([move(site, client, MOVED), move(site, client, MOVED_TOO)]),
  finish: finishMove,
};

const deleteCall: ManagementCall = {
  name: 'delete',
  withinMs: 60,
  begin: (site, client) => client.request('DELETE', site.subjectPath),
  finish: async (site, client) => {
    await site.expectStatus('a repeated delete', await client.request('DELETE', site.subjectPath), 204, 404);
    site.demanded = ['cancelled', 'delivered'];
    site.testbed.receivers.delete(SUBJECT);
  },
};

const redeliverCall: ManagementCall = {
  name: 'bulk redelivery',
  ready: (site) => site.deliverAll(),
  withinMs: 250,
  begin: (site, client) => client.request('POST', `/deliveries/redeliver?webhookId=${site.subjectId}`),
  finish: async (site, client) => {
    site.mayRepeat = true;
    const count = () =>
      withStore(site.testbed.url, (db) => countRows(db, 'select count(*) as count from redeliveries'));
    if ((await count()) === 0) {
      const response = await client.request('POST', `/deliveries/redeliver?webhookId=${site.subjectId}`);
      await site.expectStatus('a repeated bulk redelivery', response, 202);
    }
    const running = `select count(*) as count from redeliveries where finished_at is null or seen < total`;
    const isFinished = () => withStore(site.testbed.url, async (db) => (await countRows(db, running)) === 0);
    if (!(await eventually(isFinished, { everyMs: 100 })))
      site.testbed.violations.push('a bulk redelivery was not finished in time');
  },
  check: async (site) => {
    if (!(await eventually(() => notSentAgain(site) === 0, { everyMs: 100 })))
      site.testbed.violations.push(`${notSentAgain(site)} deliveries were not sent again by a bulk redelivery`);
  },
};

function notSentAgain({ testbed }: Site): number {
  const times = new Map<string, number>();
  for (const { path, eventId } of testbed.ledger.requests) {
    if (path === SUBJECT) times.set(eventId, (times.get(eventId) ?? 0) + 1);
  }
  return [...testbed.acknowledged].filter((eventId) => (times.get(eventId) ?? 0) < 2).length;
}

const rotateCall: ManagementCall = {
  name: 'secret rotation',
  withinMs: 40,
  begin: (_site, client) => rotate(client),
  finish: async (site, client) => {
    await site.expectStatus('a rotation after the kill', await rotate(client), 201);
    const { secrets } = await client.secrets();
    await expectSignedBy(
      site,
      client,
      secrets.map(({ secret }) => secret),
    );
  },
};

/** Every request of new events has a signature of each of the keys. */
async function expectSignedBy(site: Site, client: Client, keys: readonly string[]): Promise<void> {
  const { testbed } = site;
  const load = testbed.load([client], { most: 5 });
  await load.ended;
  await testbed.arrive(await site.leasedTargets());
  for (const { headers, body, eventId } of testbed.ledger.requests) {
    if (!load.acknowledged.has(eventId)) continue;
    for (const key of keys) {
      const result = await checkSignature(body, headers, key);
      if (result !== 'verified') testbed.violations.push(`a request after a rotation is not signed: ${result}`);
    }
  }
}

function rotate(client: Client): Promise<Response> {
  return client.request('POST', '/webhooks/secret/rotate', JSON.stringify({ overlapHours: 1 }));
}

/** Each key in force has signed each request, whichever instance sent it: a receiver may know any of them. */
const rotateKeyCall: ManagementCall = {
  name: 'signing key rotation',
  withinMs: 40,
  begin: (_site, client) => rotateKey(client),
  finish: async (site, client) => {
    const rotated = await rotateKey(client);
    await site.expectStatus('a rotation of the key after the kill', rotated, 201);
    const { publicKeys } = (await (await client.request('GET', '/webhooks/secret')).json()) as PublicKeyList;
    await expectSignedBy(
      site,
      client,
      publicKeys.map(({ publicKey }) => publicKey),
    );
  },
};

function rotateKey(client: Client): Promise<Response> {
  return client.request('POST', '/webhooks/signing-key/rotate', JSON.stringify({ overlapHours: 1 }));
}

export const CALLS: readonly ManagementCall[] = [
  resumeCall,
  suspendCall,
  suspendAndResume,
  moveCall,
  moveTwice,
  deleteCall,
  redeliverCall,
  rotateCall,
  rotateKeyCall,
];
