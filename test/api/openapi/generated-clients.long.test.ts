import { afterAll, beforeAll, expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { webhookSchema } from '../../../src/contract/webhooks.ts';
import { tempFolder } from '../../support/paybell.ts';
import { run } from '../../support/programs.ts';
import { needs, PYTHON_CLIENT, PYTHON_CLIENT_PROGRAMS } from '../../support/requirements.ts';
import { startTestService, type TestService } from '../../support/service.ts';

/** Clients that others generate from the document compile, and work against the service. */

const ROOT = resolve(import.meta.dir, '../../..');
const GENERATOR = join(ROOT, 'test/generator/node_modules/openapi-typescript/bin/cli.js');

/** What a program with generated types relies on: names, nullability, unions, and which fields are always there. */
const TYPES = `
import type { components, operations, paths, webhooks } from './paybell.ts';

type Webhook = components['schemas']['Webhook'];
const webhook: Webhook = ${JSON.stringify(webhookSchema.meta()?.example)};

type ListQuery = NonNullable<operations['listWebhooks']['parameters']['query']>;
const query: ListQuery = { event: 'LatePayment', sortBy: 'postUrl', sortDir: 'asc', limit: 100 };
// @ts-expect-error: not one of the seven
query.event = 'NoSuchEvent';

type List = paths['/api/v1/crypto/webhooks/classic']['get']['responses']['200'];
declare const list: List;
const urls: string[] = list.content['application/json'].webhooks.map(({ postUrl }) => postUrl);
const limit: string | undefined = list.headers.RateLimit;

type Refused = operations['listWebhooks']['responses']['429'];
declare const refused: Refused;
const wait: number | undefined = refused.headers['Retry-After'];
const code: 'rate_limited' | string = refused.content['application/problem+json'].code;

declare const entry: components['schemas']['AuditEntry'];
const before: Record<string, unknown> | null = entry.before;
declare const delivery: components['schemas']['Delivery'];
const next: number | null = delivery.dateNextAttempt;

const registration: operations['registerWebhooks']['requestBody']['content']['application/json'] = {
  postUrl: 'https://example.com',
  events: ['LatePayment'],
};
const event: operations['sendEvent']['requestBody']['content']['application/json'] = {
  event: 'LatePayment',
  networkId: 1,
  anything: ['else'],
};
type Finalized = webhooks['TransferFinalized']['post'];
declare const request: Finalized['requestBody']['content']['application/json'];
const amount: string | undefined = request.amount;
declare const headers: Finalized['parameters']['header'];
const id: string = headers['webhook-id'];
const position: string | undefined = headers['paybell-sequence'];
export const all = [webhook, query, urls, limit, wait, code, before, next, registration, event, amount, id, position];
`;

/** What it does with them. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { paths } from './paybell.ts';

declare const process: { readonly argv: readonly string[] };
const [baseUrl = '', key = '', entity = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { 'api-key': key, 'entity-id': entity } });
const registered = await client.POST('/api/v1/crypto/webhooks/classic', {
  body: { postUrl: 'https://example.com', networkIds: [1], events: ['LatePayment'] },
});
const sent = await client.POST('/api/v1/crypto/events', {
  body: { event: 'LatePayment', networkId: 1, anything: ['else'] },
});
const listed = await client.GET('/api/v1/crypto/webhooks/classic', {
  params: { query: { event: 'LatePayment', sortBy: 'postUrl', sortDir: 'asc', limit: 100 } },
});
const missing = await client.GET('/api/v1/crypto/webhooks/classic/{webhookId}', {
  params: { path: { webhookId: 'wh_none' } },
});
console.log(
  JSON.stringify([
    registered.data?.webhooks.length,
    sent.data?.deliveries,
    listed.data?.webhooks.map(({ postUrl }) => postUrl),
    missing.error?.code,
  ]),
);
`;

/** The same in Python. */
const PYTHON_PROGRAM = `
import json
import sys

from paybell import Client
from paybell.api.events import send_event
from paybell.api.webhooks import list_webhooks, read_webhook, register_webhooks
from paybell.models import (
    ListWebhooksEvent, ListWebhooksSortBy, PostedEvent, PostedEventEvent, Registration, RegistrationEventsItem,
)

base_url, key, entity = sys.argv[1:]
client = Client(base_url=base_url, headers={"api-key": key, "entity-id": entity}, raise_on_unexpected_status=True)
registration = Registration(
    post_url="https://example.com/python", network_ids=[8453], events=[RegistrationEventsItem.LATEPAYMENT]
)
registered = register_webhooks.sync(client=client, body=registration)
event = PostedEvent(event=PostedEventEvent.LATEPAYMENT, network_id=8453)
event.additional_properties["anything"] = ["else"]
sent = send_event.sync(client=client, body=event)
listed = list_webhooks.sync(
    client=client, network_id=8453, event=ListWebhooksEvent.LATEPAYMENT, sort_by=ListWebhooksSortBy.POSTURL
)
missing = read_webhook.sync(client=client, webhook_id="wh_none")
urls = [webhook.post_url for webhook in listed.webhooks if webhook.post_url.endswith("/python")]
print(json.dumps([len(registered.webhooks), sent.deliveries > 0, urls, missing.code]))
`;

const { path: folder, remove } = tempFolder();
let service: TestService;

beforeAll(async () => {
  service = await startTestService(`sqlite:${join(folder, 'paybell.db')}`, { ADMIN_KEY: 'x'.repeat(40), ROLE: 'api' });
  await Bun.write(join(folder, 'openapi.json'), await fetch(`${service.url}/openapi.json`));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  remove();
});

/** The service and the credentials, as arguments of a program. */
function target(): string[] {
  const { apiKey, entityId } = service.first;
  return [service.url, apiKey, entityId];
}

async function operationIds(): Promise<string[]> {
  const document = (await Bun.file(join(folder, 'openapi.json')).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  return Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

test('a client of openapi-typescript and openapi-fetch compiles, and registers, sends and lists', async () => {
  await Bun.write(join(folder, 'types.ts'), TYPES);
  await Bun.write(join(folder, 'program.ts'), PROGRAM);
  await run(['node', GENERATOR, 'openapi.json', '--output', 'paybell.ts'], folder);
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--allowImportingTsExtensions'];
  const modules = ['--target', 'esnext', '--module', 'esnext', '--moduleResolution', 'bundler'];
  expect(
    await run([join(ROOT, 'node_modules/.bin/tsc'), ...strict, ...modules, 'types.ts', 'program.ts'], folder),
  ).toBe('');
  const printed = await run([process.execPath, 'program.ts', ...target()], folder);
  expect(JSON.parse(printed)).toEqual([1, 1, ['https://example.com'], 'not_found']);
});

const PYTHON_TITLE = `a client of openapi-python-client compiles, and registers, sends and lists ${needs(PYTHON_CLIENT)}`;

test.skipIf(!PYTHON_CLIENT.isMet)(PYTHON_TITLE, async () => {
  const { generator, python } = PYTHON_CLIENT_PROGRAMS;
  await Bun.write(join(folder, 'program.py'), PYTHON_PROGRAM);
  const options = ['--path', 'openapi.json', '--output-path', 'paybell', '--meta', 'none'];
  await run([generator, 'generate', ...options], folder);
  const modules = [...new Bun.Glob('*/*.py').scanSync(join(folder, 'paybell/api'))].map((path) =>
    basename(path, '.py'),
  );
  // Its body is NDJSON, the one type that the generator does not know.
  expect((await operationIds()).map(snakeCase).filter((name) => !modules.includes(name))).toEqual(['send_events']);
  await run([python, '-m', 'compileall', '-q', 'paybell'], folder);
  const printed = await run([python, 'program.py', ...target()], folder);
  expect(JSON.parse(printed)).toEqual([1, true, ['https://example.com/python'], 'not_found']);
});
