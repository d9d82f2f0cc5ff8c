import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import type { ReceivedRequest } from './support/receiver.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

const FOREIGN = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

let browser: Browser;
let stage: Stage;

withFreshStage({}, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

async function newestSecret(): Promise<string> {
  return (await stage.client.secrets.list()).secrets[0]?.secret ?? '';
}

describe('a secret', () => {
  test('is not in the document until it is shown, and is hidden with the tab', async () => {
    const secret = await newestSecret();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    await page.getByRole('button', { name: 'Show' }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText(secret).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Hide' }).click();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText(secret).waitFor();
    await page.evaluate(`
      Object.defineProperty(document, 'hidden', { configurable: true, value: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
    await page.getByText(secret).waitFor({ state: 'detached' });
    expect(tab.errors).toEqual([]);
  });

  test('is hidden also when the tab is hidden at the moment at which it is shown', async () => {
    const secret = await newestSecret();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    await page.getByRole('button', { name: 'Show' }).waitFor();
    await page.evaluate(`
      new MutationObserver(() => {
        if (!document.body.textContent.includes('${secret}')) return;
        document.documentElement.dataset.shown = 'yes';
        Object.defineProperty(document, 'hidden', { configurable: true, value: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }).observe(document.body, { subtree: true, childList: true, characterData: true });`);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.locator('html[data-shown]').waitFor();
    await page.getByText(secret).waitFor({ state: 'detached' });
    expect(tab.errors).toEqual([]);
  });

  test('can be copied without being shown', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.signIn('/secrets');
    await page.getByRole('button', { name: 'Copy', exact: true }).first().click();
    await page.getByText('Copied').first().waitFor();
    const secret = await newestSecret();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);
    expect(await page.content()).not.toContain(secret);
  });

  test('that was imported is marked, and is shown as it was imported too', async () => {
    const text = 'a-secret-of-another-service';
    await stage.client.secrets.import({ secret: text });
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    await page.getByText('Imported from another service as text.').waitFor();
    expect(await page.content()).not.toContain(text);
    await page.getByRole('button', { name: 'Show' }).first().click();
    await page.getByText(text, { exact: true }).waitFor();
    await page.getByText(await newestSecret()).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });

  test('is rotated with the overlap explained, and the new one is shown once', async () => {
    const old = await newestSecret();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    await page.getByRole('button', { name: 'Rotate secret', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('every request carries both signatures').waitFor();
    const hours = dialog.getByLabel('Keep the old secret active for');
    await hours.fill('0');
    await dialog.getByText('will reject every request').waitFor();
    await hours.fill('48');
    await dialog.getByText('every request carries both signatures').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'New secret is active' }).waitFor();
    const { secrets } = await stage.client.secrets.list();
    expect(secrets.map(({ secret }) => secret)[1]).toBe(old);
    expect(await dialog.locator('code').textContent()).toBe(secrets[0]?.secret ?? '');
    expect((secrets[1]?.dateExpires ?? 0) - (secrets[0]?.dateCreated ?? 0)).toBe(48 * 3600);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Newest', { exact: true }).waitFor();
    await shows(page.locator('.secret', { hasText: 'Expires' }), 1);
    expect(await page.content()).not.toContain(secrets[0]?.secret ?? 'no secret');
    expect(tab.errors).toEqual([]);
  });

  test('is not rotated if there are too many, and the reason is shown', async () => {
    for (let made = 0; made < 4; made++) await stage.client.secrets.rotate({ overlapHours: 168 });
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/secrets');
    await tab.page.getByRole('button', { name: 'Rotate secret', exact: true }).click();
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
    await tab.page.getByRole('dialog').getByRole('alert').waitFor();
    expect((await stage.client.secrets.list()).totalResults).toBe(5);
    expect(tab.errorsExcept(/status of 409/)).toEqual([]);
  });
});

describe('the signing key', () => {
  test('is rotated with the overlap explained; both public keys and the address of the key set are shown', async () => {
    const { publicKey: old, keySetPath } = await stage.client.secrets.list();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    await page.getByText(old).waitFor();
    await page.getByText(`${stage.url}${keySetPath}`).waitFor();
    await page.getByRole('button', { name: 'Rotate key', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('find the new key there').waitFor();
    const hours = dialog.getByLabel('Keep the old key active for');
    await hours.fill('0');
    await dialog.getByText('will reject every request').waitFor();
    await hours.fill('48');
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'New key is active' }).waitFor();
    const { publicKeys } = await stage.client.secrets.list();
    expect(publicKeys.map(({ publicKey }) => publicKey)[1]).toBe(old);
    expect(await dialog.locator('code').textContent()).toBe(publicKeys[0]?.publicKey ?? '');
    await dialog.getByRole('button', { name: 'Done' }).click();
    for (const { publicKey } of publicKeys) await page.getByText(publicKey).waitFor();
    await shows(page.locator('.secret', { hasText: 'Expires' }), 1);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });
});

/** One real request, as the receiver got it. */
async function receiveRequest(): Promise<ReceivedRequest> {
  const { client, receiver } = stage;
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  await client.events.publish({ event: 'LatePayment', networkId: 1, amount: '25.00' });
  await until('the request has arrived', () => receiver.received.length === 1);
  const [request] = receiver.received;
  if (request === undefined) throw new Error('no request arrived');
  return request;
}

type Typed = { headers: Headers; body: string; secret: string };

/** Waits for the verdict, because the previous one may still be shown for a moment. */
async function expectVerdict(page: Page, { headers, body, secret }: Typed, verdict: RegExp): Promise<void> {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  await page.getByLabel('Body', { exact: true }).fill(body);
  await page.getByLabel('Headers', { exact: true }).fill(lines.join('\n'));
  await page.getByLabel('Secret', { exact: true }).fill(secret);
  await page.getByRole('button', { name: 'Verify signature' }).click();
  await page.locator('.verdict').filter({ hasText: verdict }).waitFor();
}

describe('the signature verifier', () => {
  test('says whether the signature of a real request is valid and, if not, why', async () => {
    const received = await receiveRequest();
    const secret = await newestSecret();
    const { secrets } = await stage.client.secrets.list();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    // The clock stands, because a slow machine may take longer than the minutes that a receiver allows.
    const signedAt = Number(received.headers.get('webhook-timestamp')) * 1000;
    await page.clock.setFixedTime(signedAt);
    const typed = { headers: received.headers, body: received.body, secret };
    await expectVerdict(page, typed, /Signature is valid/);
    await expectVerdict(
      page,
      { ...typed, secret: FOREIGN },
      new RegExp(`Wrong secret.*signed with another active secret, ${secrets[0]?.secretId}`),
    );
    const position = received.body.indexOf('25.00') + 2;
    await expectVerdict(
      page,
      { ...typed, body: received.body.replace('25.00', '26.00') },
      new RegExp(`Body was altered.*differs from character ${position} on`),
    );
    expect(await accessibilityViolations(page)).toEqual([]);
    const others = new Headers({ 'content-type': 'application/json' });
    await expectVerdict(page, { ...typed, headers: others }, /Cannot verify the signature.*missing \(webhook-id\)/);
    await page.clock.setFixedTime(signedAt + 15 * 60_000);
    await expectVerdict(page, typed, /Timestamp is too old.*15 min off. Receivers allow 5 min/);
    expect(tab.errors).toEqual([]);
  });

  test('fills in the newest secret, sends neither body nor secret, and needs no permission', async () => {
    const received = await receiveRequest();
    const { entityId } = stage.credentials;
    const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
    const { apiKey } = await operator.admin.createKey({ entityId, permissions: ['webhooks:read'] });
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    await page.getByRole('button', { name: 'Use newest secret' }).click();
    const secret = await newestSecret();
    await until(
      'the secret is filled in',
      async () => (await page.getByLabel('Secret', { exact: true }).inputValue()) === secret,
    );
    const typed = { headers: received.headers, body: received.body, secret };
    await expectVerdict(page, { ...typed, body: `${received.body} `, secret: FOREIGN }, /Wrong secret/);
    expect(sent.filter((text) => text.includes(FOREIGN) || text.includes('25.00'))).toEqual([]);

    await using other = await Tab.open(browser, stage);
    await other.signIn('/secrets', { credentials: { entityId, apiKey } });
    await other.page.getByText('missing the secrets:read permission').waitFor();
    await expectVerdict(other.page, typed, /Signature is valid/);
    await expectVerdict(other.page, { ...typed, secret: FOREIGN }, /cannot tell which/);
    expect(other.errorsExcept(/status of 403/)).toEqual([]);
  });
});
