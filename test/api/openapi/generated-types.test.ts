import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { webhookSchema } from '../../../src/contract/webhooks.ts';
import { call, testApp } from '../../support/api.ts';
import { run } from '../../support/programs.ts';
import { tempBase } from '../../support/temp-base.ts';

setDefaultTimeout(120_000);

const ROOT = resolve(import.meta.dir, '../../..');
const GENERATOR = join(ROOT, 'test/generator/node_modules/openapi-typescript/bin/cli.js');

/** What a program with generated types relies on: names, nullability, unions, and which fields are always there. */
const PROGRAM = `
import type { components, operations, paths } from './paybell.ts';

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
export const all = [webhook, urls, limit, wait, code, before, next, registration, event];
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tempBase(), 'paybell-generated-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('types that openapi-typescript generates from the document compile, and match the responses of the service', async () => {
  const app = testApp(undefined as never, { ADMIN_KEY: 'x'.repeat(40) });
  await Bun.write(join(folder, 'openapi.json'), await call(app, null, '/openapi.json'));
  await Bun.write(join(folder, 'program.ts'), PROGRAM);
  await run(['node', GENERATOR, 'openapi.json', '--output', 'paybell.ts'], folder);
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--allowImportingTsExtensions'];
  const modules = ['--target', 'esnext', '--module', 'esnext', '--moduleResolution', 'bundler'];
  expect(await run([join(ROOT, 'node_modules/.bin/tsc'), ...strict, ...modules, 'program.ts'], folder)).toBe('');
});
