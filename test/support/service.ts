import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { TEST_SECRET_KEY } from './command-line.ts';
import { databaseSettings } from './postgres.ts';

const API = '/api/v1/crypto';

/** The whole service in this process, on a free port, and a client with the key of its first entity. */
export async function startTestService(
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<TestService> {
  const config = loadConfig({
    PORT: '0',
    DATABASE_URL: databaseUrl,
    SECRET_KEY: TEST_SECRET_KEY,
    ALLOW_INSECURE_TARGETS: 'true',
    RATE_LIMIT: 'off',
    EVENT_RATE_LIMIT: 'off',
    ...databaseSettings(databaseUrl),
    ...settings,
  });
  return new TestService(await startService(config, createLogger('silent')));
}

type Secrets = { secrets: { secret: string }[]; publicKey: string };
export type Credentials = { entityId: string; apiKey: string };

export class TestService implements AsyncDisposable {
  constructor(private readonly service: Service) {}

  get first(): Credentials {
    if (this.service.firstEntity === null) throw new Error('The store was not empty');
    return this.service.firstEntity;
  }

  get url(): string {
    return this.service.url;
  }

  client(credentials: Credentials = this.first): Client {
    return new Client(this.service.url, credentials);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.stop();
  }
}

/** Requests as an integrator makes them. */
export class Client {
  constructor(
    readonly url: string,
    readonly credentials: Credentials,
  ) {}

  request(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    type = 'application/json',
  ): Promise<Response> {
    const { entityId, apiKey } = this.credentials;
    const headers = {
      'api-key': apiKey,
      'entity-id': entityId,
      ...(body === undefined ? {} : { 'content-type': type }),
    };
    return fetch(this.url + API + path, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  async register(postUrl: string, events = ['LatePayment'], networkIds = [1]): Promise<string> {
    const response = await this.request('POST', '/webhooks/classic', JSON.stringify({ postUrl, events, networkIds }));
    if (!response.ok) throw new Error(await response.text());
    const { webhooks } = (await response.json()) as { webhooks: { webhookId: string }[] };
    return webhooks[0]?.webhookId ?? '';
  }

  /** Sends a text unchanged, or an object with defaults; returns the id of the accepted event. */
  async send(body: string | object): Promise<{ eventId: string; deliveries: number }> {
    const text = typeof body === 'string' ? body : JSON.stringify({ event: 'LatePayment', networkId: 1, ...body });
    const response = await this.request('POST', '/events', text);
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as { eventId: string; deliveries: number };
  }

  async secrets(): Promise<Secrets> {
    return (await (await this.request('GET', '/webhooks/secret')).json()) as Secrets;
  }
}
