import { afterAll, describe, expect, test } from 'bun:test';
import { commandLine, settingsIn, startServe } from '../../support/command-line.ts';
import { tempFolder } from '../../support/paybell.ts';

const { path: folder, remove } = tempFolder();

afterAll(remove);

describe('paybell ready', () => {
  test.each(['127.0.0.1', '0.0.0.0', 'localhost'])('finds the service that listens on %s', async (HOST) => {
    const served = await startServe(settingsIn(folder, { HOST }));
    const PORT = new URL(served.url).port;
    const ready = (...args: string[]) => commandLine({ HOST, PORT })(['ready', ...args]);
    expect(await ready()).toEqual({ exitCode: 0, stdout: 'ready\n', stderr: '' });
    expect((await ready('--json')).stdout).toBe('{"ready":true}\n');
    await served.stop();
    const { exitCode, stderr } = await ready();
    expect(exitCode).toBe(1);
    expect(stderr).toContain('no response from http://');
  });

  test('fails with what a service says that cannot serve', async () => {
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response('stopping', { status: 503 }),
    });
    const { exitCode, stderr } = await commandLine({ PORT: String(server.port) })(['ready']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('responded with 503: stopping');
    await server.stop(true);
  });
});
