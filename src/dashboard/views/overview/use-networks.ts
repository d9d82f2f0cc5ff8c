import type { ChainList } from '../../../client/chain/chains.ts';
import { isPermanent, paybell } from '../../api.ts';
import { type ResponseState, useResponse } from '../../use-response.ts';

/**
 * The networks that the server follows. They change only with a restart, so a server that follows no network is asked
 * once.
 */
export function useNetworks(): ResponseState<ChainList> {
  const response = useResponse('networks', (signal) => paybell().chains.list({ signal }));
  const { data, problem, reload } = response;
  const canChange = data?.chains.length !== 0 && !isPermanent(problem);
  return { ...response, reload: canChange ? reload : () => Promise.resolve() };
}
