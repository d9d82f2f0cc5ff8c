import { beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { deliveryListSchema } from '../../../src/contract/deliveries.ts';
import { endpointListSchema, endpointSchema } from '../../../src/contract/endpoints/endpoint.ts';
import { makeSelfSigned } from '../../delivery/http/certificates.ts';
import { serviceForCommands } from '../../support/service-for-commands.ts';
import { until } from '../../support/until.ts';

const HOOK = 'http://127.0.0.1:9/hook';

let endpointId: string;
const { client, folder, paybell, runJson } = serviceForCommands();

beforeAll(async () => {
  await paybell(['webhooks', 'create', HOOK, '--networks', '1', '--events', 'LatePayment,TransferFinalized']);
  const { endpoints } = endpointListSchema.parse(await runJson(['endpoints', 'list']));
  endpointId = endpoints[0]?.endpointId ?? '';
});

test('endpoints list prints a table of URLs from A to Z, and takes the filters of the API', async () => {
  await paybell(['webhooks', 'create', `${HOOK}/a`, '--networks', '1', '--events', 'LatePayment']);
  const [headings, first, second] = (await paybell(['endpoints', 'list'])).stdout.split('\n');
  expect(headings).toMatch(/^endpoint-id +state +ordering +webhooks +waiting +last sequence +name +url$/);
  expect(first).toMatch(new RegExp(`^${endpointId} +active +none +2 +0 +0 +– +${HOOK}$`));
  expect(second).toEndWith(`${HOOK}/a`);
  const byPrefix = endpointListSchema.parse(await runJson(['endpoints', 'list', '--post-url', `${HOOK}/`]));
  expect(byPrefix).toMatchObject({ totalResults: 1, endpoints: [{ postUrl: `${HOOK}/a` }] });
  const none = await paybell(['endpoints', 'list', '--state', 'paused', '--host', '127.0.0.1']);
  expect(none.stdout).toMatch(/^No endpoints match\. Register a URL: .*webhooks create <postUrl>\n$/);
  expect((await paybell(['endpoints', 'list', '--state', 'off'])).stderr).toContain('--state must be one of');
});

test('a failing endpoint is listed by its state and says since when; one without deliveries is active', async () => {
  expect((await paybell(['endpoints', 'show', endpointId])).stdout).toMatch(/^state +active: no deliveries yet$/m);
  await paybell(['webhooks', 'create', `${HOOK}/down`, '--networks', '137', '--events', 'LatePayment']);
  await paybell(['events', 'send', '--sample', 'LatePayment', '--network-id', '137']);
  const failing = ['endpoints', 'list', '--state', 'failing'];
  await until('it fails', async () => endpointListSchema.parse(await runJson(failing)).totalResults === 1);
  const { endpoints } = endpointListSchema.parse(await runJson(failing));
  const shown = (await paybell(['endpoints', 'show', endpoints[0]?.endpointId ?? ''])).stdout;
  expect(shown).toMatch(/^state +failing: since \S+ \(Connection refused\)$/m);
  expect(shown).not.toMatch(/active|failing since/);
});

test('endpoints pause, resume and order change an endpoint and say so; show prints its settings', async () => {
  expect((await paybell(['endpoints', 'pause', endpointId])).stdout).toStartWith(`${endpointId} is paused`);
  expect((await paybell(['endpoints', 'show', endpointId])).stdout).toMatch(/^state +paused$/m);
  expect((await paybell(['endpoints', 'resume', endpointId])).stdout).toBe(
    `${endpointId} is active, with 0 deliveries waiting.\n`,
  );
  const ordered = endpointSchema.parse(await runJson(['endpoints', 'order', endpointId, 'agreement']));
  expect(ordered).toMatchObject({ endpointId, ordering: 'agreement', state: 'active' });
  expect((await paybell(['endpoints', 'order', endpointId, 'none'])).stdout).toContain('without waiting');
  expect(await paybell(['endpoints', 'order', endpointId, 'transfer'])).toMatchObject({ exitCode: 2 });
  const shown = (await paybell(['endpoints', 'show', endpointId])).stdout;
  for (const line of [/^url +http/m, /^webhooks +2$/m, /^rate limit +none$/m, /^secret +the entity's$/m]) {
    expect(shown).toMatch(line);
  }
});

test('endpoints certificate sets and removes a client certificate, and show prints it', async () => {
  const postUrl = 'https://example.com/mutual';
  await paybell(['webhooks', 'create', postUrl, '--networks', '1', '--events', 'LatePayment']);
  const { endpoints } = endpointListSchema.parse(await runJson(['endpoints', 'list', '--post-url', postUrl]));
  const id = endpoints[0]?.endpointId ?? '';
  const { cert, key } = makeSelfSigned('client.test');
  const [certFile, keyFile] = [join(folder, 'client.pem'), join(folder, 'client.key')];
  await Bun.write(certFile, cert);
  await Bun.write(keyFile, key);
  const set = await paybell(['endpoints', 'certificate', id, certFile, keyFile]);
  expect(set.stdout).toMatch(
    new RegExp(`^Connections to ${id} identify themselves with CN=client.test, which expires`),
  );
  expect((await paybell(['endpoints', 'show', id])).stdout).toMatch(
    /^certificate +CN=client\.test, which expires .*SHA-256/m,
  );
  const swapped = await paybell(['endpoints', 'certificate', id, keyFile, certFile]);
  expect(swapped.exitCode).toBe(1);
  expect(swapped.stderr).toContain('must be certificates in PEM');
  expect(swapped.stderr).not.toContain('PRIVATE');
  expect(await paybell(['endpoints', 'certificate', id, certFile])).toMatchObject({ exitCode: 2 });
  const absent = await paybell(['endpoints', 'certificate', id, certFile, '/nowhere.key']);
  expect(absent).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('cannot read /nowhere.key') });
  const removed = endpointSchema.parse(await runJson(['endpoints', 'certificate', id, '--remove']));
  expect(removed.clientCertificate).toBeNull();
});

test('deliveries show prints the number of a delivery and what superseded it; gaps lists what has not arrived', async () => {
  const postUrl = `${HOOK}/ordered`;
  const create = ['webhooks', 'create', postUrl, '--networks', '10', '--events', 'LatePayment,TransferProcessed'];
  await paybell(create);
  const { endpoints } = endpointListSchema.parse(await runJson(['endpoints', 'list', '--post-url', postUrl]));
  const id = endpoints[0]?.endpointId ?? '';
  await paybell(['endpoints', 'pause', id]);
  const transfer = { networkId: 10, transferId: 'trf-1' };
  for (const [event, eventId] of [
    ['LatePayment', 'late-1'],
    ['TransferProcessed', 'paid-1'],
  ]) {
    await client().send({ event, eventId, ...transfer });
  }
  const { deliveries } = deliveryListSchema.parse(await runJson(['deliveries', 'list', '--event-id', 'late-1']));
  const shown = (await paybell(['deliveries', 'show', deliveries[0]?.deliveryId ?? ''])).stdout;
  expect(shown).toMatch(/^status +superseded$/m);
  expect(shown).toMatch(/^superseded by +event paid-1$/m);
  expect(shown).toMatch(new RegExp(`^sequence +1 of ${id}$`, 'm'));

  const gaps = await runJson(['endpoints', 'gaps', id]);
  expect(gaps).toMatchObject({
    lastSequence: 2,
    gaps: [
      { sequence: 1, status: 'superseded', eventId: 'late-1' },
      { sequence: 2, status: 'held', eventId: 'paid-1' },
    ],
  });
  const [headings, first, second, sum] = (await paybell(['endpoints', 'gaps', id])).stdout.split('\n');
  expect(headings).toMatch(/^number +status +event +created +event-id +delivery-id$/);
  expect([first, second]).toEqual([expect.stringMatching(/^1 +superseded/), expect.stringMatching(/^2 +held/)]);
  expect(sum).toBe('2 numbers of 1 to 2 not delivered.');
  expect((await paybell(['endpoints', 'gaps', id, '--after', '2'])).stdout).toBe('Every number has arrived.\n');
  expect(await paybell(['endpoints', 'gaps', id, '--after', 'x'])).toMatchObject({ exitCode: 2 });
});

test('an unknown endpoint is an error that names what was not found', async () => {
  const { exitCode, stderr } = await paybell(['endpoints', 'show', 'ep_00000000000001']);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no endpoint') });
});
