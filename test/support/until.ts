const MAX_WAIT_MS = 30_000;

/** Polls until the check holds. After half a minute it throws an error that names the condition. */
export async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const endsAtMs = performance.now() + MAX_WAIT_MS;
  while (!(await check())) {
    if (performance.now() > endsAtMs) throw new Error(`Timed out waiting until ${what}`);
    await Bun.sleep(5);
  }
}
