const PATIENCE_MS = 60_000;

/** Waits until it holds and answers true, or false when it has not come true in time: the trial then says what broke. */
export async function comesTrue(
  check: () => boolean | Promise<boolean>,
  { everyMs = 5 }: { everyMs?: number } = {},
): Promise<boolean> {
  const endsAtMs = performance.now() + PATIENCE_MS;
  while (!(await check())) {
    if (performance.now() > endsAtMs) return false;
    await Bun.sleep(everyMs);
  }
  return true;
}

/** For what the trial cannot go on without. */
export async function mustComeTrue(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  if (!(await comesTrue(check))) throw new Error(`waited in vain until ${what}`);
}
