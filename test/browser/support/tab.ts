import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Stage } from './stage.ts';

export type Look = { theme?: 'light' | 'dark'; width?: number; height?: number; scale?: number };

const MAX_TAB_STOPS = 80;
/** For one action: Chromium may be slow on a busy machine. */
const PATIENCE_MS = 180_000;

const NAME_OF_FOCUSED = `(() => {
  const { activeElement: focused } = document;
  const label = focused.getAttribute('aria-label') ?? focused.labels?.[0]?.textContent ?? focused.textContent;
  return label.trim();
})()`;

/** A tab that records console errors and requests to other hosts, neither of which the dashboard may cause. */
export class Tab implements AsyncDisposable {
  readonly errors: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly stage: Stage,
  ) {
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.errors.push(message.text());
    });
    page.on('pageerror', (error) => this.errors.push(error.message));
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== stage.url) this.errors.push(`request to ${request.url()}`);
    });
  }

  static async open(browser: Browser, stage: Stage, look: Look = {}): Promise<Tab> {
    const { theme = 'light', width = 1280, height = 800, scale = 1 } = look;
    const context = await browser.newContext({
      baseURL: stage.url,
      colorScheme: theme,
      viewport: { width, height },
      deviceScaleFactor: scale,
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(PATIENCE_MS);
    return new Tab(context, await context.newPage(), stage);
  }

  /** Signs in through the form at this path of the dashboard. */
  async signIn(path = '/webhooks', { remember = false, credentials = this.stage.credentials } = {}): Promise<void> {
    await this.page.goto(path);
    await this.page.getByLabel('Entity ID').fill(credentials.entityId);
    await this.page.getByLabel('API key').fill(credentials.apiKey);
    if (remember) await this.page.getByLabel('Stay signed in').check();
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.getByRole('button', { name: 'Sign out' }).waitFor();
  }

  /** Presses Tab until the element with this name has the focus. */
  async tabTo(name: RegExp): Promise<void> {
    for (let presses = 0; presses < MAX_TAB_STOPS; presses += 1) {
      await this.page.keyboard.press('Tab');
      if (name.test(String(await this.page.evaluate(NAME_OF_FOCUSED)))) return;
    }
    throw new Error(`Tab did not reach an element named ${name}`);
  }

  /** The recorded errors, except those that the test provokes on purpose. */
  errorsExcept(expected: RegExp): string[] {
    return this.errors.filter((error) => !expected.test(error));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
  }
}
