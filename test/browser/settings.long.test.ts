import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import type { Permission } from '../../src/domain/keys/api-keys.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import { LOOKS } from './support/looks.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The keys of an entity, its alert URL, and the log of its changes. */

let browser: Browser;
let stage: Stage;

withFreshStage({}, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

const rows = (page: Page) => page.locator('.table tbody tr');

async function keyWith(permissions: Permission[]): Promise<{ entityId: string; apiKey: string }> {
  const { entityId } = stage.credentials;
  const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
  const { apiKey } = await operator.admin.createKey({ entityId, name: 'Support', permissions });
  return { entityId, apiKey };
}

describe('API keys', () => {
  test('are created with permissions and an expiry, shown once, and revoked after a confirmation', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/settings');
    await rows(page).filter({ hasText: 'This session' }).waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create API key' });
    const submit = dialog.getByRole('button', { name: 'Create key' });
    expect(await submit.isDisabled()).toBe(true);
    await dialog.getByLabel('Name').fill('Support desk');
    await dialog.getByLabel('deliveries:read').check();
    await dialog.getByLabel('deliveries:write').check();
    await dialog.getByLabel('Expires').selectOption('In 30 days');
    expect(await accessibilityViolations(page)).toEqual([]);
    await savePicture(page, 'settings create key');
    await submit.click();
    const created = page.getByRole('dialog', { name: 'Key created' });
    await created.getByText('shown only this once').waitFor();
    const apiKey = (await created.locator('.secret-text code').textContent()) ?? '';
    const caller = await new Paybell({ url: stage.url, entityId: stage.credentials.entityId, apiKey }).entity();
    expect(caller.permissions).toEqual(['deliveries:read', 'deliveries:write']);
    expect(Math.abs((caller.dateExpires ?? 0) - Date.now() / 1000 - 30 * 86_400)).toBeLessThan(3_600);
    await savePicture(page, 'settings key created');
    await created.getByRole('button', { name: 'Done' }).click();
    expect(await page.content()).not.toContain(apiKey);

    const row = rows(page).filter({ hasText: 'Support desk' });
    await row.locator('td.column-permissions').getByText('deliveries:read, deliveries:write').waitFor();
    await row.getByRole('button', { name: 'Revoke Support desk' }).click();
    const revoking = page.getByRole('dialog', { name: 'Revoke API key' });
    await revoking.getByRole('button', { name: 'Cancel' }).click();
    expect((await stage.client.keys.list()).keys.every(({ dateRevoked }) => dateRevoked === null)).toBe(true);
    await row.getByRole('button', { name: 'Revoke Support desk' }).click();
    expect(await accessibilityViolations(page)).toEqual([]);
    await revoking.getByRole('button', { name: 'Revoke key' }).click();
    await row.getByText('Revoked').waitFor();
    expect(await row.getByRole('button').count()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });

  test('the last one is revoked only after a warning, which ends the session', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/settings');
    await page.getByRole('button', { name: /^Revoke / }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke API key' });
    await dialog.getByText('you will be signed out').waitFor();
    await dialog.getByText('It is the last key that can create keys.').waitFor();
    expect((await stage.client.keys.list()).keys.map(({ dateRevoked }) => dateRevoked)).toEqual([null]);
    await savePicture(page, 'settings last key');
    await dialog.getByRole('button', { name: 'Revoke the last key' }).click();
    await page.getByText('You have revoked the key of this session.').waitFor();
    expect(tab.errorsExcept(/status of 401/)).toEqual([]);
  });

  test('give no permission that the key of the session lacks, and what it may not do is disabled', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/settings', { credentials: await keyWith(['keys:read', 'keys:write', 'events:read']) });
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create API key' });
    expect(await dialog.getByLabel('secrets:write').isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Read only' }).click();
    await shows(dialog.getByRole('checkbox', { checked: true }), 2);
    expect(await accessibilityViolations(page)).toEqual([]);
    await savePicture(page, 'settings create key with few permissions');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();

    await tab.signIn('/settings', { credentials: await keyWith(['keys:read']) });
    await rows(page).first().waitFor();
    const create = page.getByRole('button', { name: 'Create key' });
    await until('it is disabled', () => create.isDisabled());
    expect(await create.getAttribute('title')).toBe('This API key needs the keys:write permission');
    for (const [section, permission] of [
      ['alerts', 'webhooks:read'],
      ['audit', 'audit:read'],
    ]) {
      await page.goto(`/settings?section=${section}`);
      await page.getByText(`missing the ${permission} permission`).waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
    }
    await savePicture(page, 'settings without permission');
    expect(tab.errorsExcept(/status of 403/)).toEqual([]);
  });
});

test('the alert URL is set, refused where it is invalid, and removed', async () => {
  const { client, receiver } = stage;
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/settings?section=alerts');
  await page.getByText('Off', { exact: true }).waitFor();
  await savePicture(page, 'settings alerts off');
  await page.getByLabel('URL', { exact: true }).fill('not a url');
  await page.getByRole('button', { name: 'Turn on alerts' }).click();
  await page.locator('.error-text').waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.getByLabel('URL', { exact: true }).fill(`${receiver.url}/alerts`);
  await page.getByRole('button', { name: 'Turn on alerts' }).click();
  await page.getByText('On', { exact: true }).waitFor();
  expect((await client.webhooks.noticeUrl()).noticeUrl).toBe(`${receiver.url}/alerts`);
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'settings alerts on');
  await page.getByRole('button', { name: 'Turn off alerts' }).click();
  await page.getByText('Off', { exact: true }).waitFor();
  expect((await client.webhooks.noticeUrl()).noticeUrl).toBeNull();
  expect(tab.errorsExcept(/status of 400/)).toEqual([]);
});

test('the audit log says who changed what, and is filtered by change, actor, object and time', async () => {
  const { client, receiver } = stage;
  const { webhooks } = await client.webhooks.register({
    ...{ postUrl: `${receiver.url}/old`, networkIds: [1], events: ['LatePayment'] },
  });
  const webhookId = webhooks[0]?.webhookId ?? '';
  await client.webhooks.change(webhookId, { postUrl: `${receiver.url}/new` });
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/settings?section=audit');
  const changed = rows(page).filter({ hasText: 'Webhook changed' });
  await changed.getByText(`${receiver.url}/old`).waitFor();
  expect(await changed.locator('dt').allTextContents()).toEqual(['URL']);
  expect(await changed.locator('time').first().textContent()).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d$/);
  expect(await changed.locator('time').first().getAttribute('title')).toContain('CE');
  const { name } = (await client.keys.list()).keys[0] ?? { name: '' };
  await changed.locator('.column-actor').getByText(name).waitFor();
  expect(await changed.locator('ins').allTextContents()).toContain(`${receiver.url}/new`);
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'settings audit');
  await page.getByLabel('Change', { exact: true }).selectOption('Webhook changed');
  await until('only changes are listed', async () => (await rows(page).count()) === 1);
  expect(page.url()).toEndWith('/settings?section=audit&action=webhook.updated');
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByLabel('Object').fill(webhookId);
  await page.keyboard.press('Enter');
  await until('the list is filtered by object', () => page.url().endsWith(`target=${webhookId}`));
  await changed.waitFor();
  await changed.getByRole('link', { name: webhookId }).click();
  await until('the webhook is shown', () => page.url().endsWith(`/webhooks?webhookId=${webhookId}`));
  await page.goBack();
  await page.getByRole('button', { name: 'Clear' }).click();
  await changed.getByRole('button', { name: /^key_/ }).click();
  await until('the list is filtered by key', () => page.url().includes('actor=key_'));
  await page.getByRole('button', { name: 'Custom' }).click();
  await page.getByLabel('From').fill('2040-01-01T12:00:00');
  await page.getByRole('heading', { name: 'No matching changes' }).waitFor();
  await page.getByRole('button', { name: 'Show all changes' }).click();
  await changed.waitFor();
  expect(page.url()).toEndWith('/settings?section=audit');
  expect(tab.errors).toEqual([]);
});

test.each(Object.values(LOOKS))(
  'every section is accessible and fits, $theme, $width pixels',
  async ({ theme, width }) => {
    await stage.client.keys.create({ name: 'Support desk', permissions: ['deliveries:read', 'deliveries:write'] });
    await using tab = await Tab.open(browser, stage, { theme, width, height: 900 });
    const { page } = tab;
    await tab.signIn('/settings');
    for (const section of ['keys', 'alerts', 'audit']) {
      await page.goto(`/settings?section=${section}`);
      await page.locator('.table, .section-card').first().waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      await savePicture(page, `settings ${section} ${theme} ${width}`);
      // No text of a cell lies over the next one.
      expect(
        await page.evaluate(
          `[...document.querySelectorAll('.table td')].every((cell) => cell.scrollWidth <= cell.clientWidth)`,
        ),
      ).toBe(true);
    }
    expect(tab.errors).toEqual([]);
  },
);
