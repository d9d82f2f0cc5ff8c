import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { DeliveryList, DeliveryListQuery } from '../../../client/deliveries.ts';
import { type ApiProblem, asProblem, isPermanent, paybell } from '../../api.ts';
import { usePolling } from '../../live.ts';
import type { ResponseState } from '../../use-response.ts';
import { keepInPlace, type Shown, showNewest } from './follow.ts';

const POLL_MS = 2_000;

type State = { key: string; shown: Shown | null; problem: ApiProblem | null; loading: boolean };

/** `reload` loads the newest deliveries, even if that moves the rows being read. */
type LiveList = ResponseState<DeliveryList> & Pick<Shown, 'newer'>;

/** The list of deliveries, polled while live. Rows do not move while someone is reading them. */
export function useDeliveryList(query: DeliveryListQuery, live: boolean, isReading: () => boolean): LiveList {
  const key = JSON.stringify(query);
  const [state, setState] = useState<State>({ key, shown: null, problem: null, loading: true });
  const current = useRef(state);
  const update = useCallback((next: State) => {
    current.current = next;
    setState(next);
  }, []);

  const load = useCallback(
    async (signal: AbortSignal, reading: boolean, retries?: number): Promise<boolean> => {
      const parameters = JSON.parse(key) as DeliveryListQuery;
      const options = retries === undefined ? { signal } : { signal, retries };
      const fetchList = (listQuery: DeliveryListQuery) => paybell().deliveries.list(listQuery, options);
      const before = current.current.key === key ? current.current.shown : null;
      try {
        const shown =
          before !== null && reading
            ? await keepInPlace(fetchList, parameters, before)
            : await showNewest(fetchList, parameters);
        if (!signal.aborted) update({ key, shown, problem: null, loading: false });
        return true;
      } catch (error) {
        if (!signal.aborted) update({ key, shown: before, problem: asProblem(error), loading: false });
        return false;
      }
    },
    [key, update],
  );

  useEffect(() => {
    const ended = new AbortController();
    update({ ...current.current, loading: true });
    void load(ended.signal, false);
    return () => ended.abort();
  }, [load, update]);

  // Polling does not use the client's retries: the next poll is the retry.
  usePolling(live && state.key === key && !state.loading && !isPermanent(state.problem), POLL_MS, (signal) =>
    load(signal, isReading(), 0),
  );

  const reload = async () => {
    await load(new AbortController().signal, false);
  };
  const { shown, problem, loading } = state;
  const isStale = loading || state.key !== key;
  return { data: shown?.list ?? null, newer: shown?.newer ?? 0, problem, loading: isStale, isStale, reload };
}
