const MAX_WAIT_MS = 300_000;

/** Polls until the check holds. After a minute and a half, or longer for much work, it throws an error that names the condition. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  maxWaitMs = MAX_WAIT_MS,
): Promise<void> {
  const endsAtMs = performance.now() + maxWaitMs;
  while (!(await check())) {
    if (performance.now() > endsAtMs) throw new Error(`Timed out waiting until ${what}`);
    await Bun.sleep(5);
  }
}
