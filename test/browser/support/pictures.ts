import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** A folder for pictures of what the tests see, for those who want to look at it. */
const FOLDER = process.env.TEST_PICTURES;

export async function savePicture(page: Page, name: string): Promise<void> {
  if (FOLDER === undefined) return;
  await page.screenshot({ path: join(FOLDER, `${name.replaceAll(/[^a-z0-9]+/gi, '-')}.png`), fullPage: true });
}
