import { afterAll, describe, expect, test } from 'bun:test';
import { runPaybell, servePaybell, tempFolder } from '../../support/paybell.ts';

const { path: folder, remove } = tempFolder();

afterAll(remove);

describe('paybell ready', () => {
  test.each(['127.0.0.1', '0.0.0.0', 'localhost'])('finds the service that listens on %s', async (HOST) => {
    const served = await servePaybell(folder, { HOST });
    const PORT = new URL(served.url).port;
    expect(await runPaybell(['ready'], folder, { HOST, PORT })).toEqual({ exitCode: 0, stdout: 'ready\n', stderr: '' });
    await served.stop();
    const { exitCode, stderr } = await runPaybell(['ready'], folder, { HOST, PORT });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('no response from http://');
  });

  test('fails with what a service says that cannot serve', async () => {
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response('stopping', { status: 503 }),
    });
    const { exitCode, stderr } = await runPaybell(['ready'], folder, { PORT: String(server.port) });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('responded with 503: stopping');
    await server.stop(true);
  });
});
