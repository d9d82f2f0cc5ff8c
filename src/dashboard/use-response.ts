import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, asProblem } from './api.ts';

/** The state of one API request. While the request is repeated, `data` is the last response. */
export type ResponseState<Data> = {
  readonly data: Data | null;
  readonly problem: ApiProblem | null;
  readonly loading: boolean;
  /** Whether `data` belongs to an earlier key. A repetition of the same request does not make it stale. */
  readonly isStale: boolean;
  /** Sends the request again; resolves when the response has arrived. */
  readonly reload: () => Promise<void>;
};

type State<Data> = { key: string | null; data: Data | null; problem: ApiProblem | null; loading: boolean };

/**
 * Sends the request on the first render, whenever `key` changes, and again for the same key when `round` does. A newer
 * request aborts the one in flight, so a slow response never replaces a later one.
 */
export function useResponse<Data>(
  key: string,
  request: (signal: AbortSignal) => Promise<Data>,
  round = 0,
): ResponseState<Data> {
  const [state, setState] = useState<State<Data>>({ key: null, data: null, problem: null, loading: true });
  const latest = useRef(request);
  latest.current = request;
  const inFlight = useRef<AbortController | null>(null);

  const reload = useCallback(async () => {
    inFlight.current?.abort();
    const controller = new AbortController();
    inFlight.current = controller;
    setState((before) => ({ ...before, loading: true }));
    try {
      const data = await latest.current(controller.signal);
      if (!controller.signal.aborted) setState({ key, data, problem: null, loading: false });
    } catch (error) {
      if (controller.signal.aborted) return;
      const problem = asProblem(error);
      // Data of the same key stays visible next to the problem.
      setState((before) => ({ key, data: before.key === key ? before.data : null, problem, loading: false }));
    }
  }, [key]);

  useEffect(() => {
    void reload();
    return () => inFlight.current?.abort();
  }, [reload, round]);

  const { data, problem } = state;
  const isStale = state.key !== key;
  return { data, problem, loading: state.loading || isStale, isStale, reload };
}
