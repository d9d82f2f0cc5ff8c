import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { buildClientPackage } from '../../package/build.ts';
import { makeSigningKey, sign } from '../../src/domain/signing.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createTarget } from '../support/stores.ts';
import { tempBase } from '../support/temp-base.ts';
import { launchChromium } from './support/chromium.ts';

/** The published package on another origin, as the back office of an integration would use it. */

const EVENT = JSON.stringify({ event: 'LatePayment', networkId: 1, note: 'Ünïcödé 💶' });
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SIGNING = makeSigningKey(new Uint8Array(32).fill(3));

let folder: string;
let browser: Browser;
let backOffice: Bun.Server<undefined>;
let service: TestService;
let removeStore: () => void;

beforeAll(async () => {
  folder = mkdtempSync(join(tempBase(), 'paybell-browser-package-'));
  await buildClientPackage(folder);
  backOffice = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    routes: {
      '/': new Response('<!doctype html><title>Back office</title>', { headers: { 'content-type': 'text/html' } }),
      '/client.js': new Response(Bun.file(join(folder, 'client.js'))),
      '/verify.js': new Response(Bun.file(join(folder, 'verify.js'))),
    },
    fetch: () => new Response(null, { status: 404 }),
  });
  const { url, remove } = await createTarget('sqlite');
  removeStore = remove;
  service = await startTestService(url, { CORS_ORIGINS: backOffice.url.origin });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await service[Symbol.asyncDispose]();
  await backOffice.stop(true);
  removeStore();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the script in a browser with both modules imported, and returns its result. */
async function runInBrowser(text: string, given: object): Promise<unknown> {
  const page = await browser.newPage();
  await page.goto(backOffice.url.href);
  const script = `(async (given) => {
    const { Paybell, ProblemError } = await import('/client.js');
    const { verify } = await import('/verify.js');
    ${text}
  })(${JSON.stringify(given)})`;
  return page.evaluate(script).finally(() => page.close());
}

test('the client registers, lists all pages and reads problems with their headers', async () => {
  const result = await runInBrowser(
    `const client = new Paybell(given);
     await client.webhooks.register({ postUrl: 'http://127.0.0.1:9/', networkIds: [1, 10], events: ['LatePayment'] });
     const seen = [];
     for await (const { networkId } of client.webhooks.listAll({ limit: 1, sortDir: 'asc' })) seen.push(networkId);
     const { webhook, etag } = await client.webhooks.getTagged((await client.webhooks.list()).webhooks[0].webhookId);
     const problem = await client.webhooks.list({ limit: 0 }).catch((error) => error);
     const fields = [problem instanceof ProblemError, problem.code, problem.errors[0].name, problem.requestId.length];
     return { seen, tagged: etag.length > 10, networkId: webhook.networkId, fields };`,
    { url: service.client().url, ...service.first },
  );
  expect(result).toEqual({
    seen: [1, 10],
    tagged: true,
    networkId: 10,
    fields: [true, 'invalid_request', 'limit', 36],
  });
});

test('the verifier checks both kinds of signature and reports what is wrong', async () => {
  const timestampS = Math.floor(Date.now() / 1000);
  const signature = sign({ id: 'dlv_1', timestampS, body: EVENT, secrets: [SECRET], signingKeys: [SIGNING.secretKey] });
  const headers = { 'webhook-id': 'dlv_1', 'webhook-timestamp': String(timestampS), 'webhook-signature': signature };
  const result = await runInBrowser(
    `const reasonOf = (call) => call.then(() => null, (error) => error.reason);
     const { note } = await verify(given.body, new Headers(given.headers), given.secret);
     const { event } = await verify(new TextEncoder().encode(given.body), given.headers, given.publicKey);
     return { note, event, altered: await reasonOf(verify(given.body + ' ', given.headers, [given.secret, given.publicKey])) };`,
    { body: EVENT, headers, secret: SECRET, publicKey: SIGNING.publicKey },
  );
  expect(result).toEqual({ note: 'Ünïcödé 💶', event: 'LatePayment', altered: 'no_match' });
});
