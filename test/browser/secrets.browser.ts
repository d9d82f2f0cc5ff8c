import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { until } from '../support/until.ts';
import { accessibilityFaults } from './support/axe.ts';
import { ADMIN_KEY, onFreshStage } from './support/fresh-stage.ts';
import type { Post } from './support/receiver.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

const FOREIGN = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

let browser: Browser;
let stage: Stage;

onFreshStage({}, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

async function newestSecret(): Promise<string> {
  return (await stage.client.secrets.list()).secrets[0]?.secret ?? '';
}

describe('a secret', () => {
  test('is nowhere in the page until somebody asks, and gone when the tab goes out of view', async () => {
    const secret = await newestSecret();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    await page.getByRole('button', { name: 'Show' }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText(secret).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Hide' }).click();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText(secret).waitFor();
    await page.evaluate(`
      Object.defineProperty(document, 'hidden', { configurable: true, value: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
    await page.getByText(secret).waitFor({ state: 'detached' });
    expect(tab.faults).toEqual([]);
  });

  test('is copied without being shown', async () => {
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

  test('is rotated with the overlap explained, and the new one is shown once', async () => {
    const old = await newestSecret();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('every post carries both signatures').waitFor();
    const hours = dialog.getByLabel('The old secret goes on signing for');
    await hours.fill('0');
    await dialog.getByText('refuse every post from now on').waitFor();
    await hours.fill('48');
    await dialog.getByText('every post carries both signatures').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The new secret signs now' }).waitFor();
    const { secrets } = await stage.client.secrets.list();
    expect(secrets.map(({ secret }) => secret)[1]).toBe(old);
    expect(await dialog.locator('code').textContent()).toBe(secrets[0]?.secret ?? '');
    expect((secrets[1]?.dateExpires ?? 0) - (secrets[0]?.dateCreated ?? 0)).toBe(48 * 3600);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Newest', { exact: true }).waitFor();
    expect(await page.locator('.secret', { hasText: 'Ends' }).count()).toBe(1);
    expect(await page.content()).not.toContain(secrets[0]?.secret ?? 'no secret');
    expect(tab.faults).toEqual([]);
  });

  test('is not rotated when there are too many, and the reason is said', async () => {
    for (let made = 0; made < 4; made++) await stage.client.secrets.rotate({ overlapHours: 168 });
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/secrets');
    await tab.page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await tab.page.getByRole('button', { name: 'Make a new secret' }).click();
    await tab.page.getByRole('dialog').getByRole('alert').waitFor();
    expect((await stage.client.secrets.list()).totalResults).toBe(5);
    expect(tab.faultsBut(/status of 409/)).toEqual([]);
  });
});

/** One real post, as the receiver got it. */
async function receivePost(): Promise<Post> {
  const { client, receiver } = stage;
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  await client.events.publish({ event: 'LatePayment', networkId: 1, amount: '25.00' });
  await until('it has arrived', () => receiver.received.length === 1);
  const [post] = receiver.received;
  if (post === undefined) throw new Error('nothing arrived');
  return post;
}

type Typed = { headers: Headers; body: string; secret: string };

/** The one before may still stand there for a moment, so it is waited for. */
async function expectVerdict(page: Page, { headers, body, secret }: Typed, verdict: RegExp): Promise<void> {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  await page.getByLabel('Body', { exact: true }).fill(body);
  await page.getByLabel('Headers', { exact: true }).fill(lines.join('\n'));
  await page.getByLabel('Secret', { exact: true }).fill(secret);
  await page.getByRole('button', { name: 'Check the signature' }).click();
  await page.locator('.verdict').filter({ hasText: verdict }).waitFor();
}

describe('the tester', () => {
  test('says of a real post whether it holds, and if not, why', async () => {
    const post = await receivePost();
    const secret = await newestSecret();
    const { secrets } = await stage.client.secrets.list();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    const typed = { headers: post.headers, body: post.body, secret };
    await expectVerdict(page, typed, /The signature holds/);
    await expectVerdict(
      page,
      { ...typed, secret: FOREIGN },
      new RegExp(`Wrong secret.*signed with another secret, ${secrets[0]?.secretId}`),
    );
    const place = post.body.indexOf('25.00') + 2;
    await expectVerdict(
      page,
      { ...typed, body: post.body.replace('25.00', '26.00') },
      new RegExp(`Altered body.*they part at character ${place}`),
    );
    expect(await accessibilityFaults(page)).toEqual([]);
    const others = new Headers({ 'content-type': 'application/json' });
    await expectVerdict(page, { ...typed, headers: others }, /cannot be checked.*missing \(webhook-id\)/);
    await page.clock.setFixedTime(Date.now() + 15 * 60_000);
    await expectVerdict(page, typed, /Too old.*1[45] min off; receivers allow 5 min/);
    expect(tab.faults).toEqual([]);
  });

  test('takes the newest secret by itself, sends neither body nor secret, and needs no permission', async () => {
    const post = await receivePost();
    const { entityId } = stage.credentials;
    const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
    const { apiKey } = await operator.admin.createKey({ entityId, permissions: ['webhooks:read'] });
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/secrets');
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    await page.getByRole('button', { name: 'Use the newest' }).click();
    const secret = await newestSecret();
    await until(
      'it is filled in',
      async () => (await page.getByLabel('Secret', { exact: true }).inputValue()) === secret,
    );
    const typed = { headers: post.headers, body: post.body, secret };
    await expectVerdict(page, { ...typed, body: `${post.body} `, secret: FOREIGN }, /Wrong secret/);
    expect(sent.filter((text) => text.includes(FOREIGN) || text.includes('25.00'))).toEqual([]);

    await using other = await Tab.open(browser, stage);
    await other.signIn('/secrets', { credentials: { entityId, apiKey } });
    await other.page.getByText('It lacks the permission secrets:read').waitFor();
    await expectVerdict(other.page, typed, /The signature holds/);
    await expectVerdict(other.page, { ...typed, secret: FOREIGN }, /cannot be told/);
    expect(other.faultsBut(/status of 403/)).toEqual([]);
  });
});
