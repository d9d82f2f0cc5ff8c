import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { version } from '../../src/version.ts';
import { cleanUpAfterEach } from '../support/clean-up.ts';
import { Ledger, type ReceivedRequest } from '../support/ledger.ts';
import { type Client, startTestService, type TestService } from '../support/service.ts';
import { checkSignature } from '../support/signatures.ts';
import { createTarget } from '../support/stores.ts';
import { SUITE_ENGINES } from '../support/suite.ts';
import { until } from '../support/until.ts';

/** From the request with an event to the request that a receiver gets, over real sockets. */

async function isSignedWith(request: ReceivedRequest, key: string): Promise<boolean> {
  return (await checkSignature(request.body, request.headers, key)) === 'verified';
}

for (const engine of SUITE_ENGINES) {
  describe(`a request to a receiver on ${engine}`, () => {
    const cleanUp = cleanUpAfterEach();

    async function start(
      settings: Record<string, string> = {},
    ): Promise<{ service: TestService; client: Client; ledger: Ledger }> {
      const { url, remove } = await createTarget(engine);
      cleanUp.push(remove);
      const ledger = new Ledger();
      cleanUp.push(() => ledger[Symbol.asyncDispose]());
      const service = await startTestService(url, { RETRY_SCHEDULE: '0s,0s,0s,0s', ...settings });
      cleanUp.push(() => service[Symbol.asyncDispose]());
      const client = service.client();
      await client.register(ledger.url());
      return { service, client, ledger };
    }

    test('carries the bytes of the event unchanged', async () => {
      const { client, ledger } = await start();
      const bodies = [
        '{"event":"LatePayment","networkId":1,"amount":123456789012345678901234567890}',
        '{"b":0,"2":"two","event":"LatePayment","1":"one","networkId":1}',
        '\r\n {\t"event" :  "LatePayment",\n"networkId":1.0  }\n\n',
        '{"event":"LatePayment","networkId":1,"note":"before\\u0000after"}',
        '{"event":"LatePayment","networkId":1,"note":"Ünïcödé 💶 \u2028"}',
        '{"event":"LatePayment","networkId":1,"note":"\\ud800"}',
        `{"event":"LatePayment","networkId":1,"note":"${'x'.repeat(250_000)}"}`,
      ];
      for (const body of bodies) await client.send(body);
      await until('all have arrived', () => ledger.requests.length === bodies.length);
      const received = ledger.requests.map(({ body }) => Buffer.from(body).toString('base64')).sort();
      expect(received).toEqual(bodies.map((body) => Buffer.from(body).toString('base64')).sort());
    });

    test('has the documented headers and no others but those of HTTP itself', async () => {
      const { client, ledger } = await start();
      const { eventId } = await client.send({ eventId: 'transfer-8412' });
      await until('it has arrived', () => ledger.requests.length === 1);
      const { headers, path } = ledger.requests[0] ?? { headers: {}, path: '' };
      expect(path).toBe('/hook');
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'user-agent': `Paybell/${version}`,
        'paybell-event-id': eventId,
        'webhook-id': expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
        'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
        'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
        'paybell-endpoint': expect.stringMatching(/^ep_[0-9a-f]{14}$/),
        'paybell-sequence': '1',
        'paybell-sequence-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
      });
      const documented =
        /^(webhook-(id|timestamp|signature)|paybell-(event-id|endpoint|sequence|sequence-signature)|content-.*|user-agent)$/;
      const others = Object.keys(headers).filter((name) => !documented.test(name));
      expect(others.filter((name) => !['host', 'connection', 'accept', 'accept-encoding'].includes(name))).toEqual([]);
    });

    test('that fails twice and then succeeds is the same id and bytes three times, each signed afresh', async () => {
      const { client, ledger } = await start();
      ledger.reply = async (_post, earlier) => {
        // Across the boundary of a second, so that the timestamps can differ.
        if (earlier === 0) await Bun.sleep(1_000);
        return new Response('', { status: earlier < 2 ? 500 : 200 });
      };
      const body = '{ "event": "LatePayment", "networkId": 1, "2": 0, "1": 1 }';
      await client.send(body);
      await until('it was sent three times', () => ledger.requests.length === 3);
      expect(new Set(ledger.requests.map(({ deliveryId }) => deliveryId)).size).toBe(1);
      expect(ledger.requests.map((request) => Buffer.from(request.body).toString())).toEqual([body, body, body]);
      const times = ledger.requests.map(({ headers }) => Number(headers['webhook-timestamp']));
      expect(times[1]).toBeGreaterThan(times[0] ?? 0);
      expect(times).toEqual(times.toSorted());
      const [{ secret } = { secret: '' }] = (await client.secrets()).secrets;
      for (const request of ledger.requests) {
        expect(await isSignedWith(request, secret)).toBe(true);
        for (const Webhook of [StandardWebhook, SvixWebhook]) {
          expect(new Webhook(secret).verify(Buffer.from(request.body).toString(), request.headers)).toBeDefined();
        }
      }
    });

    test('is signed with both secrets after a rotation, and with the new one alone when the old one has expired', async () => {
      const { client, ledger } = await start();
      const [{ secret: first } = { secret: '' }] = (await client.secrets()).secrets;
      await client.send({ eventId: 'before' });
      await until('the first has arrived', () => ledger.requests.length === 1);
      await client.request('POST', '/webhooks/secret/rotate', '{"overlapHours":1}');
      const [{ secret: second } = { secret: '' }] = (await client.secrets()).secrets;
      await client.send({ eventId: 'during' });
      await until('the second has arrived', () => ledger.requests.length === 2);
      await client.request('POST', '/webhooks/secret/rotate', '{"overlapHours":0}');
      const [{ secret: third } = { secret: '' }] = (await client.secrets()).secrets;
      await client.send({ eventId: 'after' });
      await until('the third has arrived', () => ledger.requests.length === 3);
      const signedBy = ledger.requests.map((request) =>
        Promise.all([first, second, third].map((secret) => isSignedWith(request, secret))),
      );
      expect(await Promise.all(signedBy)).toEqual([
        [true, false, false],
        [true, true, false],
        [false, false, true],
      ]);
    });

    test('has the Ed25519 signature and the older one of the body if the settings ask for them', async () => {
      const { client, ledger } = await start({ SIGN_ASYMMETRIC: 'true', BODY_SIGNATURE_HEADER: 'x-hook-hmac' });
      await client.send({ note: 'Ünïcödé' });
      await until('it has arrived', () => ledger.requests.length === 1);
      const [request] = ledger.requests;
      if (request === undefined) throw new Error('nothing has arrived');
      const { secrets, publicKey } = await client.secrets();
      const secret = secrets[0]?.secret ?? '';
      expect(request.headers['webhook-signature']).toMatch(/^v1,\S+ v1a,\S+$/);
      expect([await isSignedWith(request, publicKey), await isSignedWith(request, secret)]).toEqual([true, true]);
      expect(new StandardWebhook(secret).verify(Buffer.from(request.body).toString(), request.headers)).toBeDefined();
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      expect(request.headers['x-hook-hmac']).toBe(createHmac('sha256', key).update(request.body).digest('base64'));
    });

    test('goes to the new URL after a move, to none after a removal, and out again after a resume', async () => {
      const { client, ledger } = await start({ RETRY_SCHEDULE: '0s,1h' });
      const webhookId = await client.register(ledger.url());
      ledger.reply = ({ path }) => new Response('', { status: path === '/hook' ? 410 : 200 });
      await client.send({ eventId: 'held' });
      await until('it is suspended', async () => {
        const held = await client.request('GET', `/deliveries?status=held`);
        return ((await held.json()) as { totalResults: number }).totalResults === 1;
      });
      await client.request('PATCH', `/webhooks/classic/${webhookId}`, JSON.stringify({ postUrl: ledger.url('/new') }));
      await client.send({ eventId: 'also-held' });
      await client.request('POST', `/webhooks/classic/${webhookId}/resume`);
      await until('both have arrived', () => ledger.requests.filter(({ path }) => path === '/new').length === 2);
      expect((await client.request('DELETE', `/webhooks/classic/${webhookId}`)).status).toBe(204);
      expect(await client.send({ eventId: 'unheard' })).toEqual({ eventId: 'unheard', deliveries: 0 });
      expect(ledger.requests.map(({ path, eventId }) => `${path} ${eventId}`).sort()).toEqual([
        '/hook held',
        '/new also-held',
        '/new held',
      ]);
    });
  });
}
