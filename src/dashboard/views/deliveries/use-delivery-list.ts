import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { DeliveryListQuery } from '../../../client/types.ts';
import { type ApiProblem, asProblem, paybell, willLast } from '../../api.ts';
import { useTicks } from '../../live.ts';
import { keepInPlace, type Shown, showNewest } from './follow.ts';

const EVERY_MS = 2_000;

type State = { key: string; shown: Shown | null; problem: ApiProblem | null; loading: boolean };

type LiveList = Omit<State, 'key'> & {
  /** Asks for the newest, whatever the person reads. */
  readonly showLatest: () => Promise<void>;
};

/** A list of deliveries that brings itself up to date while it is live, without moving what somebody reads. */
export function useDeliveryList(query: DeliveryListQuery, live: boolean, isReading: () => boolean): LiveList {
  const key = JSON.stringify(query);
  const [state, setState] = useState<State>({ key, shown: null, problem: null, loading: true });
  const current = useRef(state);
  const put = useCallback((next: State) => {
    current.current = next;
    setState(next);
  }, []);

  const bring = useCallback(
    async (signal: AbortSignal, reading: boolean, retries?: number): Promise<boolean> => {
      const asked = JSON.parse(key) as DeliveryListQuery;
      const options = retries === undefined ? { signal } : { signal, retries };
      const ask = (question: DeliveryListQuery) => paybell().deliveries.list(question, options);
      const before = current.current.key === key ? current.current.shown : null;
      try {
        const shown = before !== null && reading ? await keepInPlace(ask, asked, before) : await showNewest(ask, asked);
        if (!signal.aborted) put({ key, shown, problem: null, loading: false });
        return true;
      } catch (error) {
        if (!signal.aborted) put({ key, shown: before, problem: asProblem(error), loading: false });
        return false;
      }
    },
    [key, put],
  );

  useEffect(() => {
    const ended = new AbortController();
    put({ ...current.current, loading: true });
    void bring(ended.signal, false);
    return () => ended.abort();
  }, [bring, put]);

  // The next tick is the next try.
  useTicks(live && state.key === key && !state.loading && !willLast(state.problem), EVERY_MS, (signal) =>
    bring(signal, isReading(), 0),
  );

  const showLatest = async () => {
    await bring(new AbortController().signal, false);
  };
  const { shown, problem, loading } = state;
  return { shown, problem, loading: loading || state.key !== key, showLatest };
}
