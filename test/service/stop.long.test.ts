import { describe, expect, test } from 'bun:test';
import { createSocket } from 'node:dgram';
import { join } from 'node:path';
import { WEBHOOKS } from '../support/api.ts';
import { logLines, printed } from '../support/first-start.ts';
import { connectRaw } from '../support/raw-http.ts';
import { rejection } from '../support/rejection.ts';
import { servicesOfTest } from '../support/services-of-test.ts';

const { cleanUp, newFolder, serve } = servicesOfTest();

describe('a service that is stopped', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'on %s is first not ready, then finishes the request in flight, then ends with 0',
    async (signal) => {
      // A machine that is busy for half a second does not see it: then it is done again.
      let seen = await stopInFlight(signal);
      for (let tries = 1; !seen && tries < 5; tries++) seen = await stopInFlight(signal);
      expect(seen).toBeTrue();
    },
  );

  /** Returns whether the service was seen not to be ready before it stopped to listen. */
  async function stopInFlight(signal: 'SIGTERM' | 'SIGINT'): Promise<boolean> {
    const served = await serve(newFolder());
    const { apiKey, entityId } = printed(served.stdout());
    const body = JSON.stringify({ postUrl: 'https://example.com/flight', networkIds: [1], events: ['LatePayment'] });
    const inFlight = await connectRaw(served.url);
    inFlight.write(
      `POST ${WEBHOOKS} HTTP/1.1\r\nhost: localhost\r\napi-key: ${apiKey}\r\nentity-id: ${entityId}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    );
    const readiness = () =>
      fetch(`${served.url}/readyz`).then(
        ({ status }) => status,
        () => null,
      );
    expect(await readiness()).toBe(200);
    const ending = served.stop(signal);
    let last = await readiness();
    while (last === 200) {
      await Bun.sleep(5);
      last = await readiness();
    }
    expect(last).toBeOneOf([503, null]);
    inFlight.write(body.slice(10));
    expect(await inFlight.received('example.com/flight')).toStartWith('HTTP/1.1 201');
    const { exitCode, stdout } = await ending;
    expect(exitCode).toBe(0);
    const messages = logLines(stdout).map((line) => JSON.parse(line).msg);
    expect(messages.filter((message) => message !== 'request')).toEqual(['started', 'stopping', 'stopped']);
    return last === 503;
  }

  test('ends with 0 although a request waits for a receiver that hangs: it is cut off, and the log says so', async () => {
    const asked = Promise.withResolvers<void>();
    const receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: () => {
        asked.resolve();
        return new Promise<Response>(() => undefined);
      },
    });
    cleanUp.push(() => receiver.stop(true));
    // The request of the test would last five minutes, and this test does not wait so long.
    const served = await serve(newFolder(), { ALLOW_INSECURE_TARGETS: 'true', DELIVERY_TIMEOUT: '5m' });
    const headers = { ...printed(served.stdout()).headers, 'content-type': 'application/json' };
    const postUrl = `http://127.0.0.1:${receiver.port}/`;
    const body = JSON.stringify({ postUrl, networkIds: [1], events: ['LatePayment'] });
    const registered = await fetch(served.url + WEBHOOKS, { method: 'POST', headers, body });
    const { webhooks } = (await registered.json()) as { webhooks: { webhookId: string }[] };
    const path = `${WEBHOOKS}/${webhooks[0]?.webhookId}/test`;
    const cutOff = rejection(fetch(served.url + path, { method: 'POST', headers: printed(served.stdout()).headers }));
    await asked.promise;
    const { exitCode, stdout } = await served.stop();
    expect(exitCode).toBe(0);
    expect(logLines(stdout).map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: 40, pendingRequests: 1, msg: expect.stringContaining('cut off') }),
    );
    await cutOff;
  });

  test('ends with 0 also when the signal comes twice, as from Ctrl-C under npm', async () => {
    const served = await serve(newFolder());
    served.child.kill('SIGINT');
    await Bun.sleep(20);
    expect((await served.stop('SIGINT')).exitCode).toBe(0);
  });

  /** Name servers on loopback that never respond. The resolver gives up after 20 s with one, and after 90 s with four. */
  async function silentNameServers(): Promise<{ servers: string[]; asked: Promise<void> }> {
    const asked = Promise.withResolvers<void>();
    const servers: string[] = [];
    for (let count = 0; count < 4; count++) {
      const names = createSocket('udp4').unref();
      cleanUp.push(() => names.close());
      names.on('message', () => asked.resolve());
      await new Promise<void>((resolve) => names.bind(0, '127.0.0.1', resolve));
      servers.push(`127.0.0.1:${names.address().port}`);
    }
    return { servers, asked: asked.promise };
  }

  test('ends within DELIVERY_TIMEOUT though the lookup of a receiver goes on for 90 s', async () => {
    const { servers, asked } = await silentNameServers();
    const folder = newFolder();
    const preload = join(folder, 'silent-names.ts');
    const script = `import { setServers } from 'node:dns';\nsetServers(${JSON.stringify(servers)});\n`;
    await Bun.write(preload, script);
    const served = await serve(folder, {
      BUN_OPTIONS: `--preload ${preload}`,
      DELIVERY_TIMEOUT: '1s',
      ALLOW_INSECURE_TARGETS: 'true',
    });
    const headers = { ...printed(served.stdout()).headers, 'content-type': 'application/json' };
    const post = (path: string, body: object) =>
      fetch(`${served.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const kind = { networkIds: [1], events: ['LatePayment'] };
    expect((await post(WEBHOOKS, { postUrl: 'http://silent.example/', ...kind })).status).toBe(201);
    expect((await post('/api/v1/crypto/events', { networkId: 1, event: 'LatePayment' })).status).toBe(202);
    await asked;
    const stopsAtMs = performance.now();
    expect((await served.stop()).exitCode).toBe(0);
    // Generous: it only has to tell the deadline of the attempt from the end of the lookup.
    expect(performance.now() - stopsAtMs).toBeLessThan(60_000);
  });
});
