import type { FactDetail } from '../../../../../client/chain/facts.ts';
import { isPermanent, paybell } from '../../../../api.ts';
import { usePolling } from '../../../../live.ts';
import { type ResponseState, useResponse } from '../../../../use-response.ts';

/** Slower than the delivery: blocks take longer than attempts. */
const POLL_MS = 5_000;

/** A fact, polled while live and while its state can still change. */
export function useFact(factId: string, live: boolean): ResponseState<FactDetail> {
  const response = useResponse(factId, (signal) => paybell().facts.get(factId, { signal }));
  const data = response.data?.factId === factId ? response.data : null;
  usePolling(live && data?.state !== 'final' && !isPermanent(response.problem), POLL_MS, async () => {
    await response.reload();
    return true;
  });
  return { ...response, data };
}
