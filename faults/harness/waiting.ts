const MAX_WAIT_MS = 180_000;

/** Polls until the check holds. Resolves to false if it does not within three minutes. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  { everyMs = 5 }: { everyMs?: number } = {},
): Promise<boolean> {
  const endsAtMs = performance.now() + MAX_WAIT_MS;
  while (!(await check())) {
    if (performance.now() > endsAtMs) return false;
    await Bun.sleep(everyMs);
  }
  return true;
}

/** Throws where `eventually` resolves to false: for conditions without which the trial cannot continue. */
export async function waitUntil(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  if (!(await eventually(check))) throw new Error(`Timed out waiting until ${what}`);
}
