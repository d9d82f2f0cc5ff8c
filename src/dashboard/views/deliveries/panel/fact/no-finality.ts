import { networkName } from '../../../../../domain/networks.ts';
import { paybell } from '../../../../api.ts';
import { useResponse } from '../../../../use-response.ts';

/** Why there is nothing to say about the finality of an event that Paybell has not read from its network. */
export function useNoFinality(networkId: number | null): string | null {
  const { data } = useResponse(`chains ${networkId}`, async (signal) =>
    networkId === null ? null : paybell().chains.list({ signal }),
  );
  if (data === null || networkId === null) return null;
  return data.chains.some((chain) => chain.networkId === networkId)
    ? 'This event was published and not read from the network, so Paybell cannot say whether the payment is final.'
    : `Paybell does not read ${networkName(networkId)}, so it cannot say whether the payment is final.`;
}
