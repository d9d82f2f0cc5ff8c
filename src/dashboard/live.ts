import { useEffect, useRef } from 'preact/hooks';
import { createStore } from './observable.ts';

/** Whether views keep themselves up to date; one switch for all of them, until the tab is closed. */
export const live = createStore(true);

const MAX_WAIT_MS = 30_000;

/**
 * Calls again and again while it is active and anybody can see it: one call at a time, each some time after the end of
 * the one before, and later and later while they fail. A tab that comes back into view is brought up to date at once.
 */
export function useTicks(active: boolean, everyMs: number, tick: (signal: AbortSignal) => Promise<boolean>): void {
  const latest = useRef(tick);
  latest.current = tick;
  useEffect(() => {
    if (!active) return;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let running = false;
    let failures = 0;
    const wait = () => {
      clearTimeout(timer);
      if (!document.hidden) timer = setTimeout(run, Math.min(MAX_WAIT_MS, everyMs * 2 ** failures));
    };
    const run = async () => {
      if (running || ended.signal.aborted || document.hidden) return;
      running = true;
      failures = (await latest.current(ended.signal)) ? 0 : failures + 1;
      running = false;
      if (!ended.signal.aborted) wait();
    };
    const onVisibility = () => {
      clearTimeout(timer);
      if (!document.hidden) void run();
    };
    document.addEventListener('visibilitychange', onVisibility);
    wait();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [active, everyMs]);
}
