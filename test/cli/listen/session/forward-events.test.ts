import { describe, expect, test } from 'bun:test';
import { verify } from '../../../../src/verify/verify.ts';
import { commandLine, type RunningCommand, startCommand } from '../../../support/command-line.ts';
import { freePort } from '../../../support/free-port.ts';
import { Instances } from '../../../support/instances.ts';
import type { Credentials } from '../../../support/service.ts';
import { serviceOfFile } from '../../../support/service-of-file.ts';
import { SUITE_ENGINES, suiteRuns } from '../../../support/suite.ts';
import { until } from '../../../support/until.ts';

type Line = {
  type: 'session' | 'request';
  sessionId?: string;
  secret?: string;
  deliveryId?: string;
  eventId?: string;
  event?: string;
  statusCode?: number;
  error?: string;
  durationMs?: number;
};

/** `paybell listen --forward --server --json`. */
class Listening {
  readonly #command: RunningCommand;

  constructor(
    { entityId, apiKey }: Credentials,
    { server, forward, more = [] }: { server: string; forward: string; more?: string[] },
  ) {
    const args = ['listen', '--forward', forward, '--server', server, '--json', ...more];
    this.#command = startCommand(args, { PAYBELL_API_KEY: apiKey, PAYBELL_ENTITY_ID: entityId });
  }

  get lines(): Line[] {
    const printed = this.#command.stdout().split('\n').filter(Boolean);
    return printed.map((line) => JSON.parse(line) as Line);
  }

  get stderr(): string {
    return this.#command.stderr();
  }

  get session(): { sessionId: string; secret: string } {
    const { sessionId = '', secret = '' } = this.lines.find(({ type }) => type === 'session') ?? {};
    return { sessionId, secret };
  }

  get requests(): Line[] {
    return this.lines.filter(({ type }) => type === 'request');
  }

  async started(): Promise<void> {
    await until('the session is there', () => this.session.secret !== '' || this.#command.hasEnded());
  }

  async stop(): Promise<number> {
    return (await this.#command.stop()).exitCode;
  }

  async exitCode(): Promise<number> {
    return (await this.#command.ended).exitCode;
  }
}

type Received = { id: string; eventId: string; headers: Headers; body: string };

/** The program on the developer's machine. */
function startProgram(respond: (received: Received) => Response | Promise<Response> = () => new Response('ok')) {
  const received: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const one = {
        id: request.headers.get('webhook-id') ?? '',
        eventId: request.headers.get('paybell-event-id') ?? '',
        headers: request.headers,
        body: await request.text(),
      };
      received.push(one);
      return respond(one);
    },
  });
  return { url: `${server.url}hook`, received, stop: () => server.stop(true) };
}

describe('paybell listen --forward --server', () => {
  const service = serviceOfFile();

  const listen = async (forward: string, ...more: string[]) => {
    const listening = new Listening(service().first, { server: service().url, forward, more });
    await listening.started();
    return listening;
  };
  const sessionExists = async ({ session }: Listening) => {
    const path = `/listen-sessions/${session.sessionId}/results`;
    const result = { deliveryId: 'x', token: 'x', statusCode: 200, durationMs: 1 };
    const response = await service().client().request('POST', path, JSON.stringify(result));
    return ((await response.json()) as { detail: string }).detail.includes('no request');
  };

  test('forwards each event with a signature of the printed secret, and prints event, status and duration', async () => {
    const program = startProgram(({ eventId }) => new Response('no', { status: eventId === 'second' ? 500 : 200 }));
    const listening = await listen(program.url, '--count', '3');
    for (const eventId of ['first', 'second', 'third']) await service().client().send({ eventId });
    expect(await listening.exitCode()).toBe(0);
    expect(program.received.map(({ eventId }) => eventId).toSorted()).toEqual(['first', 'second', 'third']);
    for (const { body, headers } of program.received) {
      expect(await verify(body, headers, listening.session.secret)).toMatchObject({ event: 'LatePayment' });
    }
    const shown = listening.requests.map(({ eventId, event, statusCode }) => [eventId, event, statusCode]);
    expect(shown.toSorted()).toEqual([
      ['first', 'LatePayment', 200],
      ['second', 'LatePayment', 500],
      ['third', 'LatePayment', 200],
    ]);
    expect(listening.requests.every(({ durationMs = -1 }) => durationMs >= 0)).toBeTrue();
    expect(await sessionExists(listening)).toBeFalse();
    await program.stop();
  });

  test('follows no redirect, and says why a program could not be reached', async () => {
    const elsewhere = startProgram();
    const program = startProgram(() => Response.redirect(elsewhere.url, 307));
    const listening = await listen(program.url, '--count', '1');
    await service().client().send({ eventId: 'redirected' });
    expect(await listening.exitCode()).toBe(0);
    expect(listening.requests).toMatchObject([{ statusCode: 307 }]);
    expect(elsewhere.received).toEqual([]);
    await Promise.all([program.stop(), elsewhere.stop()]);
    const unreachable = await listen(program.url, '--count', '1');
    await service().client().send({ eventId: 'unreachable' });
    expect(await unreachable.exitCode()).toBe(0);
    expect(unreachable.requests).toMatchObject([{ eventId: 'unreachable', error: expect.any(String) }]);
  });

  test('takes only what --events, --networks and --filter want', async () => {
    const program = startProgram();
    const filter = '{"amount": {"min": "10"}}';
    const wanted = ['--events', 'TransferProcessed', '--networks', '10', '--filter', filter, '--count', '1'];
    const listening = await listen(program.url, ...wanted);
    const event = { event: 'TransferProcessed', networkId: 10, amount: '10' };
    await service()
      .client()
      .send({ ...event, eventId: 'kind', event: 'LatePayment' });
    await service()
      .client()
      .send({ ...event, eventId: 'network', networkId: 1 });
    await service()
      .client()
      .send({ ...event, eventId: 'amount', amount: '9' });
    await service()
      .client()
      .send({ ...event, eventId: 'wanted' });
    expect(await listening.exitCode()).toBe(0);
    expect(program.received.map(({ eventId }) => eventId)).toEqual(['wanted']);
    await program.stop();
  });

  test('a stop ends the session', async () => {
    const listening = await listen('http://127.0.0.1:9/hook');
    expect(await sessionExists(listening)).toBeTrue();
    expect(await listening.stop()).toBe(0);
    expect(await sessionExists(listening)).toBeFalse();
  });

  test('a session that the server has ended is replaced, with a warning and a new secret', async () => {
    const program = startProgram();
    const listening = await listen(program.url);
    const { sessionId, secret } = listening.session;
    expect((await service().client().request('DELETE', `/listen-sessions/${sessionId}`)).status).toBe(204);
    await until('there is another', () => listening.lines.filter(({ type }) => type === 'session').length === 2);
    expect(listening.lines.at(-1)?.secret).not.toBe(secret);
    await service().client().send({ eventId: 'after' });
    await until('it is forwarded', () => program.received.length === 1);
    expect(listening.stderr).toContain('the session had ended');
    await listening.stop();
    await program.stop();
  });

  test('refuses options that would have no effect', async () => {
    const run = commandLine({ PAYBELL_API_KEY: 'pbk_x', PAYBELL_ENTITY_ID: 'ent_x' });
    const both = ['listen', '--forward', 'http://127.0.0.1:9/', '--server', 'http://127.0.0.1:9'];
    for (const [args, text] of [
      [[...both, '--port', '0'], '--port is for the receiver'],
      [[...both, '--no-check'], '--no-check is for the receiver'],
      [['listen', '--events', 'LatePayment'], '--events needs --forward and --server'],
    ] as const) {
      const { exitCode, stderr } = await run(args);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(text)]);
    }
  });
});

describe.each(SUITE_ENGINES)('paybell listen through restarts of the server on %s', (engine) => {
  test('the program gets every event, and none twice', async () => {
    const PORT = String(await freePort());
    const instances = await Instances.on(engine);
    // Slow enough that requests are in flight and not reported whenever the server goes.
    const program = startProgram(async () => {
      await Bun.sleep(20);
      return new Response('ok');
    });
    try {
      let first = await instances.start({ PORT });
      // On PostgreSQL, another instance accepts events while the one with the reader is away.
      const second = engine === 'postgres' ? await instances.start() : null;
      const options = { server: first.client.url, forward: program.url };
      const listening = new Listening(instances.credentials, options);
      await listening.started();
      const sent: string[] = [];
      const send = async (count: number, through = first) => {
        for (let index = 0; index < count; index++) sent.push((await through.client.send({})).eventId);
      };
      const signals = ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const;
      for (const signal of signals.slice(0, suiteRuns(1, 3))) {
        await send(40);
        if (second !== null) await send(20, second);
        await first.served.stop(signal);
        if (second !== null) await send(20, second);
        first = await instances.start({ PORT });
        await send(10);
      }
      await until(
        'the program has got them all',
        () => new Set(program.received.map(({ eventId }) => eventId)).size >= sent.length,
      );
      expect(program.received.map(({ eventId }) => eventId).toSorted()).toEqual(sent.toSorted());
      expect(new Set(program.received.map(({ id }) => id)).size).toBe(sent.length);
      expect(listening.lines.filter(({ type }) => type === 'session').length).toBe(1);
      expect(listening.stderr).toContain('Connected again');
      expect(await listening.stop()).toBe(0);
    } finally {
      await program.stop();
      await instances.stop();
    }
  });
});
