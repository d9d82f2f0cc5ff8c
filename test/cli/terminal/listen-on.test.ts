import { describe, expect, test } from 'bun:test';
import { CommandError } from '../../../src/cli/terminal/command-error.ts';
import { type ListenTarget, listenOn, type ResolveHost } from '../../../src/cli/terminal/listen-on.ts';

const TARGET: ListenTarget = { host: 'pay.test', port: 8080, hostSetting: 'HOST', portSetting: 'PORT' };
const resolveTo =
  (address: string): ResolveHost =>
  async () =>
    address;

const failWith =
  (code: string, syscall = 'listen') =>
  () =>
    Promise.reject(Object.assign(new Error(code), { code, syscall }));

async function messageOf(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => null,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(CommandError);
  return error.message;
}

describe('listening on a host', () => {
  test('uses the address that its name resolves to', async () => {
    const server = await listenOn(
      { ...TARGET, port: 0 },
      (hostname) => Bun.serve({ hostname, port: 0, fetch: () => new Response('here') }),
      resolveTo('127.0.0.1'),
    );
    expect(server.hostname).toBe('127.0.0.1');
    await server.stop(true);
  });

  test('asks no name server for an address', async () => {
    expect(await listenOn({ ...TARGET, host: '127.0.0.1' }, (address) => address)).toBe('127.0.0.1');
    expect(await listenOn({ ...TARGET, host: '::' }, (address) => address)).toBe('::');
  });

  test.each(['ENOTFOUND', 'EAI_AGAIN'])('that cannot be resolved (%s) says so and starts nothing', async (code) => {
    let starts = 0;
    const attempt = listenOn(TARGET, () => starts++, failWith(code, 'getaddrinfo'));
    expect(await messageOf(attempt)).toStartWith(`HOST pay.test cannot be resolved (${code}); set HOST to 127.0.0.1`);
    expect(starts).toBe(0);
  });

  test('of another machine says so, and names the address behind a name', async () => {
    const away = failWith('EADDRNOTAVAIL');
    expect(await messageOf(listenOn(TARGET, away, resolveTo('203.0.113.9')))).toStartWith(
      'HOST pay.test resolves to 203.0.113.9, which is not an address of this machine; set HOST to',
    );
    expect(await messageOf(listenOn({ ...TARGET, host: '203.0.113.9' }, away))).toStartWith(
      'HOST 203.0.113.9 is not an address of this machine; set HOST to',
    );
  });

  test('on a port in use names a command with another port', async () => {
    const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
    const target = { ...TARGET, host: '127.0.0.1', port: Number(other.port), portSetting: '--port' };
    const attempt = listenOn(target, (hostname) =>
      Bun.serve({ hostname, port: target.port, reusePort: false, fetch: () => new Response() }),
    );
    expect(await messageOf(attempt)).toBe(
      `port ${other.port} on 127.0.0.1 is in use. Stop the program that uses it, or choose another port: --port ${target.port + 1}`,
    );
    await other.stop(true);
    const service = listenOn({ ...TARGET, port: 65_535 }, failWith('EADDRINUSE'), resolveTo('127.0.0.1'));
    expect(await messageOf(service)).toEndWith('choose another port: PORT=65534 paybell serve');
  });

  test.each([
    ['EACCES', 'this user may not listen on port 8080 of pay.test; set PORT to one above 1023'],
    ['EMFILE', 'cannot listen on pay.test:8080 (EMFILE); check HOST and PORT'],
  ])('that fails with %s says what to change', async (code, message) => {
    expect(await messageOf(listenOn(TARGET, failWith(code), resolveTo('127.0.0.1')))).toStartWith(message);
  });

  test('leaves every other failure of the start as it is', async () => {
    const error = Object.assign(new Error('permission denied'), { code: 'EACCES', syscall: 'mkdir' });
    const attempt = listenOn(TARGET, () => Promise.reject(error), resolveTo('127.0.0.1'));
    expect(await attempt.catch((reason) => reason)).toBe(error);
  });
});
