import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, asProblem } from './api.ts';

/** What a view knows of something it asked for. While it asks again, it goes on showing what it has. */
export type Answer<Data> = {
  readonly data: Data | null;
  readonly problem: ApiProblem | null;
  readonly loading: boolean;
  /** Asks again; resolves when the answer is there. */
  readonly again: () => Promise<void>;
};

type State<Data> = { key: string | null; data: Data | null; problem: ApiProblem | null; loading: boolean };

/**
 * Asks when it is first drawn and whenever the key changes. An answer that was overtaken by a newer question is dropped,
 * so that a slow answer never replaces a later one.
 */
export function useResponse<Data>(key: string, ask: (signal: AbortSignal) => Promise<Data>): Answer<Data> {
  const [state, setState] = useState<State<Data>>({ key: null, data: null, problem: null, loading: true });
  const latest = useRef(ask);
  latest.current = ask;
  const running = useRef<AbortController | null>(null);

  const again = useCallback(async () => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setState((before) => ({ ...before, loading: true }));
    try {
      const data = await latest.current(controller.signal);
      if (!controller.signal.aborted) setState({ key, data, problem: null, loading: false });
    } catch (error) {
      if (controller.signal.aborted) return;
      const problem = asProblem(error);
      // An answer to the same question is still worth showing beside what went wrong.
      setState((before) => ({ key, data: before.key === key ? before.data : null, problem, loading: false }));
    }
  }, [key]);

  useEffect(() => {
    void again();
    return () => running.current?.abort();
  }, [again]);

  return { data: state.data, problem: state.problem, loading: state.loading || state.key !== key, again };
}
