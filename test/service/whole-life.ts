import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../src/store/database/open.ts';
import { commandLine } from '../support/command-line.ts';
import { dumpRows } from '../support/dump.ts';
import { Ledger } from '../support/ledger.ts';
import { firstCredentials, type Served, servePaybell, tempFolder } from '../support/paybell.ts';
import { createPostgresDatabase, TEST_DEADLINE_MS } from '../support/postgres.ts';
import type { Engine } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** Everything that must be nowhere but where it is shown by right, by name. */
export type Secrets = Map<string, string>;

/** Everything that a life of the service produced, by where it was found. */
export type Traces = Map<string, string>;

const API = '/api/v1/crypto';
const OPERATOR_KEY = 'operator-key-0123456789-abcdefghij';
const METRICS_TOKEN = 'metrics-token-0123456789-abcdefgh';
const SECRET_KEY = Buffer.from('a key that is nowhere to be seen').toString('base64');

type Received = { readonly status: number; readonly text: string };

/** One entity from its provisioning to the backup, on a real process that logs everything. */
export class WholeLife {
  readonly secrets: Secrets = new Map([
    ['ADMIN_KEY', OPERATOR_KEY],
    ['METRICS_TOKEN', METRICS_TOKEN],
    ['SECRET_KEY', SECRET_KEY],
  ]);
  readonly traces: Traces = new Map();
  #credentials: Record<string, string> = { 'api-key': OPERATOR_KEY };

  private constructor(
    private readonly engine: Engine,
    private readonly folder: ReturnType<typeof tempFolder>,
    private readonly settings: Record<string, string>,
  ) {}

  static async live(engine: Engine): Promise<WholeLife> {
    const folder = tempFolder();
    const life = new WholeLife(engine, folder, {
      DATABASE_URL: engine === 'postgres' ? await createPostgresDatabase() : `sqlite:${folder.path}/data/paybell.db`,
      SECRET_KEY,
      ADMIN_KEY: OPERATOR_KEY,
      METRICS_TOKEN,
      ALLOW_INSECURE_TARGETS: 'true',
      RETRY_SCHEDULE: '0s,20ms',
      SIGN_ASYMMETRIC: 'true',
      BODY_SIGNATURE_HEADER: 'x-body-signature',
      LOG_LEVEL: 'debug',
    });
    const served = await servePaybell(folder.path, life.settings);
    life.secrets.set('the first key', firstCredentials(served.stdout())?.apiKey ?? '');
    try {
      await life.#provision(served);
      await life.#deliver(served);
      await life.#blunder(served);
      await life.#lookAround(served);
      await life.#operate();
    } finally {
      const { stdout, stderr } = await served.stop();
      life.traces.set('standard output', stdout).set('standard error', stderr);
    }
    await life.#search();
    return life;
  }

  remove(): void {
    this.folder.remove();
  }

  async #ask(served: Served, path: string, init: RequestInit = {}): Promise<Received> {
    const headers = { 'content-type': 'application/json', ...this.#credentials, ...init.headers };
    const response = await fetch(served.url + path, { ...init, headers });
    const headerText = JSON.stringify([...response.headers]);
    const text = await response.text();
    this.#keep(`${init.method ?? 'GET'} ${path} → ${response.status}`, headerText + text);
    return { status: response.status, text };
  }

  /** A response that is meant to show a secret: the secret is noted, and the response is no trace. */
  async #askForSecrets(served: Served, path: string, body: unknown): Promise<Record<string, string>> {
    const response = await fetch(served.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...this.#credentials },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(await response.text());
    const text = await response.text();
    for (const [secret] of text.matchAll(/\bpbk_\w+|\bwhsec_[\w+/=]+/g)) this.#noteSecret(secret);
    return JSON.parse(text) as Record<string, string>;
  }

  #noteSecret(secret: string): void {
    this.secrets.set(`${secret.slice(0, 10)}…`, secret);
    if (!secret.startsWith('whsec_')) return;
    const raw = secret.slice('whsec_'.length);
    this.secrets.set(`${raw.slice(0, 6)}… bare`, raw);
    this.secrets.set(`${raw.slice(0, 6)}… as hex`, Buffer.from(raw, 'base64').toString('hex'));
    this.secrets.set(`${raw.slice(0, 6)}… as bytes`, Buffer.from(raw, 'base64').toString('latin1'));
  }

  #keep(where: string, text: string): void {
    this.traces.set(where, (this.traces.get(where) ?? '') + text);
  }

  async #provision(served: Served): Promise<void> {
    const { entityId = '' } = await this.#askForSecrets(served, '/admin/v1/entities', { name: 'Acme' });
    const made = await this.#askForSecrets(served, '/admin/v1/keys', { entityId, name: 'all' });
    await this.#ask(served, '/admin/v1/keys');
    this.#credentials = { 'api-key': made.apiKey ?? '', 'entity-id': entityId };
    await this.#askForSecrets(served, `${API}/webhooks/secret`, undefined);
    await this.#askForSecrets(served, `${API}/webhooks/secret/rotate`, { overlapHours: 24 });
  }

  async #deliver(served: Served): Promise<void> {
    await using good = new Ledger();
    await using broken = new Ledger(({ headers }) => new Response(JSON.stringify(headers), { status: 500 }));
    const register = (postUrl: string) =>
      this.#ask(served, `${API}/webhooks/classic`, {
        method: 'POST',
        body: JSON.stringify({ postUrl, networkIds: [1], events: ['LatePayment'] }),
      });
    const { text } = await register(good.url());
    const webhookId = /wh_[0-9a-f]{32}/.exec(text)?.[0];
    await register(broken.url());
    const event = { event: 'LatePayment', networkId: 1, eventId: 'one' };
    await this.#ask(served, `${API}/events`, { method: 'POST', body: JSON.stringify(event) });
    await until('one was delivered and one has failed', async () => {
      const { text } = await this.#ask(served, `${API}/deliveries`);
      return text.includes('"delivered"') && text.includes('"failed"');
    });
    await this.#ask(served, `${API}/deliveries/redeliver?status=failed`, {
      method: 'POST',
      headers: { 'content-type': '' },
    });
    await until('it was sent again', () => broken.requests.length > 2);
    await this.#ask(served, `${API}/webhooks/classic/${webhookId}/test`, { method: 'POST' });
    for (const { headers, body } of [...good.requests, ...broken.requests]) {
      this.#keep('requests', JSON.stringify(headers) + new TextDecoder().decode(body));
    }
  }

  /** Keys sent in the wrong place by mistake: none comes back, not even in the error. */
  async #blunder(served: Served): Promise<void> {
    const key = this.#credentials['api-key'] ?? '';
    const secret = [...this.secrets.values()].find((value) => value.startsWith('whsec_')) ?? '';
    for (const leaked of [key, secret, OPERATOR_KEY]) {
      const encoded = encodeURIComponent(leaked);
      await this.#ask(served, `${API}/webhooks/classic?api-key=${encoded}`);
      await this.#ask(served, `${API}/webhooks/classic?webhookId=${encoded}&limit=0`);
      await this.#ask(served, `${API}/webhooks/classic/${encoded}`);
      await this.#ask(served, `${API}/webhooks/classic`, { headers: { 'entity-id': leaked } });
      await this.#ask(served, `${API}/webhooks/classic`, { headers: { 'api-key': `${leaked}x` } });
      await this.#ask(served, `${API}/webhooks/classic`, {
        headers: { 'api-key': '', authorization: `Bearer ${leaked}` },
      });
      await this.#ask(served, `${API}/webhooks/classic`, { method: 'POST', body: JSON.stringify({ postUrl: leaked }) });
      await this.#ask(served, `${API}/webhooks/classic`, { method: 'POST', body: JSON.stringify({ apiKey: leaked }) });
      await this.#ask(served, `${API}/events`, { method: 'POST', body: `{"event":"${leaked}"` });
      await this.#ask(served, `${API}/events`, {
        method: 'POST',
        body: JSON.stringify({ event: leaked, networkId: leaked }),
      });
      await this.#ask(served, '/metrics', { headers: { authorization: `Bearer ${leaked}` } });
    }
  }

  async #lookAround(served: Served): Promise<void> {
    const paths = [
      'webhooks/classic',
      'webhooks/coverage',
      'webhooks/notice-url',
      'events',
      'deliveries',
      'stats',
      'audit',
    ];
    for (const path of paths) await this.#ask(served, `${API}/${path}`);
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/']) await this.#ask(served, path);
    await this.#ask(served, '/metrics', { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
    const operator = { 'api-key': OPERATOR_KEY };
    for (const path of ['/admin/v1/entities', '/admin/v1/keys']) await this.#ask(served, path, { headers: operator });
  }

  async #operate(): Promise<void> {
    const entity = ['--entity', this.#credentials['entity-id'] ?? ''];
    const commands = [
      ['export', ...entity],
      ['audit', ...entity, '--json'],
      ['keys', 'list', ...entity, '--json'],
      ['entities', 'list', '--json'],
      ['store', 'deliveries', 'list', ...entity, '--json'],
      ['doctor', '--json'],
      ...(this.engine === 'sqlite' ? [['backup', join(this.folder.path, 'copy.db')]] : []),
    ];
    for (const command of commands) {
      const { stdout, stderr, exitCode } = await commandLine(this.settings)(command);
      this.traces.set(`paybell ${command.join(' ')} → ${exitCode}`, stdout + stderr);
    }
  }

  /** Whatever lies on the disk or in the tables when all is over. */
  async #search(): Promise<void> {
    for (const file of readdirSync(this.folder.path, { recursive: true, withFileTypes: true })) {
      // A backup and the first start say of these files that they are to be guarded.
      if (!file.isFile() || file.name === 'copy.db.key' || file.name.endsWith('.first-key')) continue;
      this.traces.set(`file ${file.name}`, readFileSync(join(file.parentPath, file.name), 'latin1'));
    }
    if (this.engine === 'sqlite') return;
    const url = this.settings.DATABASE_URL ?? '';
    const db = await openDatabase({ engine: this.engine, url, deadlineMs: TEST_DEADLINE_MS });
    this.traces.set('tables', await dumpRows({ engine: this.engine, db, url }));
    await db.close();
  }
}
