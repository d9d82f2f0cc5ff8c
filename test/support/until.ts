const PATIENCE_MS = 30_000;

/** Waits until the check holds; gives up with the name of what was waited for, so that a lost event fails by name. */
export async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const endsAtMs = performance.now() + PATIENCE_MS;
  while (!(await check())) {
    if (performance.now() > endsAtMs) throw new Error(`waited in vain until ${what}`);
    await Bun.sleep(5);
  }
}
