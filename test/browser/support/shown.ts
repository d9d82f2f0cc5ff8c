import type { Locator } from 'playwright-core';
import { until } from '../../support/until.ts';

/** Waits until the page shows this many such elements: parts of a view that load on their own appear one by one. */
export async function shows(elements: Locator, count: number): Promise<void> {
  await until(`${elements} is shown ${count} times`, async () => (await elements.count()) === count);
}
