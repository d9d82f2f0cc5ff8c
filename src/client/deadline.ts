export type Deadline = {
  readonly signal: AbortSignal;
  /** Stops the timer and forgets the caller's signal. */
  readonly clear: () => void;
};

/** A signal that aborts with the caller's own or after the time. Browsers still in use lack `AbortSignal.any`. */
export function startDeadline(timeoutMs: number, callerSignal: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const abort = () => controller.abort(callerSignal?.reason);
  // A signal that is aborted already sends no event.
  if (callerSignal?.aborted === true) abort();
  callerSignal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  return {
    signal: controller.signal,
    clear: () => {
      clearTimeout(timer);
      callerSignal?.removeEventListener('abort', abort);
    },
  };
}

/** Waits, or returns early when the signal aborts; at once if it is aborted already. */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener('abort', wake);
  });
}
