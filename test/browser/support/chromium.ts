import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const COMMON_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const START_WITHIN_MS = 180_000;

/** Uses the installed browser, which the system keeps up to date, instead of downloading one. */
export function launchChromium(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: findChromium(process.env.CHROMIUM_PATH), args, timeout: START_WITHIN_MS });
}

export function findChromium(named: string | undefined, exists = existsSync): string {
  const found = named === undefined ? COMMON_PATHS.find(exists) : exists(named) ? named : undefined;
  if (found !== undefined) return found;
  throw new Error(
    named === undefined
      ? 'The browser tests need Chromium. Install it (Debian: apt-get install chromium), or set CHROMIUM_PATH to its path.'
      : `CHROMIUM_PATH is ${named}, which does not exist.`,
  );
}
