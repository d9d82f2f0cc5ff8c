import { resolve } from 'node:path';
import { scripts, version } from '../package.json' with { type: 'json' };
import { launchChromium } from '../test/browser/support/chromium.ts';
import { tempFolder } from '../test/support/paybell.ts';
import { until } from '../test/support/until.ts';

/**
 * Draws docs/images/first-start.png, a terminal of 80 columns and 24 rows after the first start:
 * `npx bun docs/generate-first-start.ts`. It needs port 8080 and Chromium.
 */

const COLUMNS = 80;
const ROWS = 24;
/** Printed by npm itself. */
const BANNER = `\n&gt; paybell@${version} start\n&gt; ${scripts.start}\n\n`;

const ROOT = resolve(import.meta.dir, '..');
const COLORS: Readonly<Record<string, string>> = {
  '1': 'font-weight: bold; color: #fff',
  '32': 'color: #a5d6a7',
  '33': 'color: #f0c674',
  '35': 'color: #c792ea',
  '36': 'color: #5fd7e7',
};

async function firstStart(): Promise<string> {
  const folder = tempFolder();
  let output = '';
  const decoder = new TextDecoder();
  const child = Bun.spawn([process.execPath, resolve(ROOT, 'src/main.ts'), 'serve'], {
    cwd: folder.path,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder.path,
      TERM: 'xterm-256color',
      npm_package_name: 'paybell',
      npm_lifecycle_event: 'start',
    },
    terminal: {
      cols: COLUMNS,
      rows: ROWS,
      data: (_terminal, bytes) => {
        output += decoder.decode(bytes, { stream: true });
      },
    },
  });
  try {
    await until('the service is up', () => output.includes('API reference') || child.exitCode !== null);
    if (child.exitCode !== null) throw new Error(`the service did not start:\n${output}`);
    return output;
  } finally {
    child.kill('SIGTERM');
    await child.exited;
    folder.remove();
  }
}

/** The text with a span for each colour. The key in it is of a store that no longer exists. */
function asHtml(output: string): string {
  const [plain = '', ...colored] = output.replaceAll('\r', '').split('\x1b[');
  let html = Bun.escapeHTML(plain);
  for (const part of colored) {
    const [, code = '', text = ''] = /^([0-9;]*)m([\s\S]*)$/.exec(part) ?? [];
    const style = COLORS[code];
    const escaped = Bun.escapeHTML(text);
    html += style === undefined ? escaped : `<span style="${style}">${escaped}</span>`;
  }
  return html;
}

const PAGE = (content: string) => `<!doctype html><meta charset="utf-8"><style>
  body { margin: 0; padding: 24px; display: inline-block; background: #fff }
  main { background: #161b22; color: #d0d7de; border-radius: 8px; box-shadow: 0 8px 24px #0004 }
  header { height: 34px; background: #21262d; border-radius: 8px 8px 0 0 }
  pre { margin: 0; padding: 6px 22px 12px; font: 14px/21px 'DejaVu Sans Mono', 'Liberation Mono', monospace;
        width: ${COLUMNS}ch; height: ${ROWS * 21}px; overflow: hidden; white-space: pre-wrap; word-break: break-all }
</style><main><header></header><pre><span style="color: #8b949e">$</span> npm start
${BANNER}${content.trimEnd()}
</pre></main>`;

const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  await page.setContent(PAGE(asHtml(await firstStart())));
  await page.locator('body').screenshot({ path: resolve(ROOT, 'docs/images/first-start.png') });
} finally {
  await browser.close();
}
