import { source } from 'axe-core';
import type { Page } from 'playwright-core';

type Violation = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] };

/** The violations that axe finds on the screen. Playwright evaluates the script, so the content security policy allows it. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  await page.evaluate(source);
  const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as {
    violations: Violation[];
  };
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${impact} ${id}: ${html} ${failureSummary.replace(/\s+/g, ' ')}`),
  );
}
