import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const USUAL_PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser that is installed: none is downloaded, so that what runs is what the system keeps up to date. */
export function launchChromium(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: findChromium(process.env.CHROMIUM_PATH), args });
}

export function findChromium(named: string | undefined, exists = existsSync): string {
  const found = named === undefined ? USUAL_PLACES.find(exists) : exists(named) ? named : undefined;
  if (found !== undefined) return found;
  throw new Error(
    named === undefined
      ? 'There is no Chromium for the browser tests. Install it (Debian: apt-get install chromium), or say where it is with CHROMIUM_PATH.'
      : `CHROMIUM_PATH names ${named}, and there is no such file.`,
  );
}
