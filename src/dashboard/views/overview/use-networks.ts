import type { ChainList } from '../../../client/chain/chains.ts';
import { isPermanent, paybell } from '../../api.ts';
import { type ResponseState, useResponse } from '../../use-response.ts';

/**
 * The networks that the server follows. Which ones these are changes only with a restart, so a server that follows none is
 * asked once.
 */
export function useNetworks(): ResponseState<ChainList> {
  const response = useResponse('networks', (signal) => paybell().chains.list({ signal }));
  const { data, problem, reload } = response;
  const canChange = data?.chains.length !== 0 && !isPermanent(problem);
  return { ...response, reload: canChange ? reload : () => Promise.resolve() };
}
