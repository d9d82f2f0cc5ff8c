import { useEffect, useRef } from 'preact/hooks';
import { isPermanent } from './api.ts';
import { createObservable, useObservable } from './observable.ts';
import { type ResponseState, useResponse } from './use-response.ts';

/** Whether views update automatically. One switch controls all views until the tab is closed. */
export const live = createObservable(true);

const MAX_WAIT_MS = 30_000;

/**
 * Calls `poll` repeatedly while `active` and while the tab is visible: one call at a time, the next one `everyMs` after the
 * last has finished, and with exponential backoff while calls fail. A tab that becomes visible again polls at once.
 */
export function usePolling(active: boolean, everyMs: number, poll: (signal: AbortSignal) => Promise<boolean>): void {
  const latest = useRef(poll);
  latest.current = poll;
  useEffect(() => {
    if (!active) return;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let running = false;
    let failures = 0;
    const schedule = () => {
      clearTimeout(timer);
      if (!document.hidden) timer = setTimeout(run, Math.min(MAX_WAIT_MS, everyMs * 2 ** failures));
    };
    const run = async () => {
      if (running || ended.signal.aborted || document.hidden) return;
      running = true;
      failures = (await latest.current(ended.signal)) ? 0 : failures + 1;
      running = false;
      if (!ended.signal.aborted) schedule();
    };
    const onVisibility = () => {
      clearTimeout(timer);
      if (!document.hidden) void run();
    };
    document.addEventListener('visibilitychange', onVisibility);
    schedule();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [active, everyMs]);
}

/** A request that is repeated while views update automatically, unless `isActive` is false or its problem is permanent. */
export function useLiveResponse<Data>(
  key: string,
  request: (signal: AbortSignal) => Promise<Data>,
  everyMs: number,
  isActive: (data: Data | null) => boolean = () => true,
): ResponseState<Data> {
  const response = useResponse(key, request);
  const on = useObservable(live);
  usePolling(on && isActive(response.data) && !isPermanent(response.problem), everyMs, async () => {
    await response.reload();
    return true;
  });
  return response;
}
