import { source } from 'axe-core';
import type { Page } from 'playwright-core';

type Violation = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] };

/** What axe finds wrong with what is on the screen now, each as a sentence. Evaluated from outside, past the page's policy. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(source);
  const { violations } = (await page.evaluate('axe.run()')) as { violations: Violation[] };
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${impact} ${id}: ${html} ${failureSummary.replace(/\s+/g, ' ')}`),
  );
}
