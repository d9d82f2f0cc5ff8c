import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { buildPackage } from '../../package/build.ts';
import { makeSigningKey, sign } from '../../src/domain/signing.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createTarget } from '../support/stores.ts';
import { tempBase } from '../support/temp-base.ts';
import { launchChromium } from './support/chromium.ts';

/** The published package in a page of another origin, as an integrator's own back office would use it. */

const EVENT = JSON.stringify({ event: 'LatePayment', networkId: 1, note: 'Ünïcödé 💶' });
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SIGNING = makeSigningKey(new Uint8Array(32).fill(3));

let folder: string;
let browser: Browser;
let pages: Bun.Server<undefined>;
let service: TestService;
let removeStore: () => void;

beforeAll(async () => {
  folder = mkdtempSync(join(tempBase(), 'paybell-browser-package-'));
  await buildPackage(folder);
  pages = Bun.serve({
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
  service = await startTestService(url, { CORS_ORIGINS: pages.url.origin });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await service[Symbol.asyncDispose]();
  await pages.stop(true);
  removeStore();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the text in a page with both modules at hand, and answers what it answers. */
async function inPage(text: string, given: object): Promise<unknown> {
  const page = await browser.newPage();
  await page.goto(pages.url.href);
  const script = `(async (given) => {
    const { Paybell, ProblemError } = await import('/client.js');
    const { verify } = await import('/verify.js');
    ${text}
  })(${JSON.stringify(given)})`;
  return page.evaluate(script).finally(() => page.close());
}

test('the client registers, walks all pages and reads problems with their headers', async () => {
  const answer = await inPage(
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
  expect(answer).toEqual({
    seen: [1, 10],
    tagged: true,
    networkId: 10,
    fields: [true, 'invalid_request', 'limit', 36],
  });
});

test('the verifier checks both kinds of signature, and says what is wrong', async () => {
  const timestampS = Math.floor(Date.now() / 1000);
  const signature = sign({ id: 'dlv_1', timestampS, body: EVENT, secrets: [SECRET], signingKey: SIGNING.secretKey });
  const headers = { 'webhook-id': 'dlv_1', 'webhook-timestamp': String(timestampS), 'webhook-signature': signature };
  const answer = await inPage(
    `const reasonOf = (call) => call.then(() => null, (error) => error.reason);
     const { note } = await verify(given.body, new Headers(given.headers), given.secret);
     const { event } = await verify(new TextEncoder().encode(given.body), given.headers, given.publicKey);
     return { note, event, altered: await reasonOf(verify(given.body + ' ', given.headers, [given.secret, given.publicKey])) };`,
    { body: EVENT, headers, secret: SECRET, publicKey: SIGNING.publicKey },
  );
  expect(answer).toEqual({ note: 'Ünïcödé 💶', event: 'LatePayment', altered: 'no_match' });
});
