/** Below the two minutes after which the runner ends a test, so that the error names the condition. */
const MAX_WAIT_MS = 90_000;

/** Polls until the check holds. Throws after a minute and a half, or after the time that a caller with much work gives. */
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
