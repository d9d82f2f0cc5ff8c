import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Stage } from './stage.ts';

export type Look = { theme?: 'light' | 'dark'; width?: number; height?: number; scale?: number };

const MOST_STOPS = 80;

const NAME_OF_FOCUSED = `(() => {
  const { activeElement: focused } = document;
  const label = focused.getAttribute('aria-label') ?? focused.labels?.[0]?.textContent ?? focused.textContent;
  return label.trim();
})()`;

/** A tab that notes what no visitor should ever cause: errors in the console, and requests to another host. */
export class Tab implements AsyncDisposable {
  readonly faults: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly stage: Stage,
  ) {
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.faults.push(message.text());
    });
    page.on('pageerror', (error) => this.faults.push(error.message));
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== stage.url) this.faults.push(`asked ${request.url()}`);
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
    return new Tab(context, await context.newPage(), stage);
  }

  /** At an address of the page, through the form like anybody else. */
  async signIn(address = '/webhooks', { remember = false, credentials = this.stage.credentials } = {}): Promise<void> {
    await this.page.goto(address);
    await this.page.getByLabel('Entity id').fill(credentials.entityId);
    await this.page.getByLabel('API key').fill(credentials.apiKey);
    if (remember) await this.page.getByLabel('Remember').check();
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.getByRole('navigation', { name: 'Views' }).waitFor();
  }

  /** Presses Tab until the focus is on what bears this name; fails when a round through the page has not met it. */
  async tabTo(name: RegExp): Promise<void> {
    for (let presses = 0; presses < MOST_STOPS; presses += 1) {
      await this.page.keyboard.press('Tab');
      if (name.test(String(await this.page.evaluate(NAME_OF_FOCUSED)))) return;
    }
    throw new Error(`no ${name} could be reached by Tab`);
  }

  /** What was noted, but for what the test itself provoked. */
  faultsBut(expected: RegExp): string[] {
    return this.faults.filter((fault) => !expected.test(fault));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
  }
}
