import { networkName } from '../../../../../domain/networks.ts';
import { paybell } from '../../../../api.ts';
import { useResponse } from '../../../../use-response.ts';

/** Why there is nothing to say about the finality of an event that Paybell has not read from its network. */
export function NoFinality({ networkId }: { networkId: number }) {
  const { data } = useResponse('chains', (signal) => paybell().chains.list({ signal }));
  if (data === null) return null;
  const isRead = data.chains.some((chain) => chain.networkId === networkId);
  return (
    <>
      <dt>Finality</dt>
      <dd class="muted">
        {isRead
          ? 'This event was published and not read from the network, so Paybell cannot say whether the payment is final.'
          : `Paybell does not read ${networkName(networkId)}, so it cannot say whether the payment is final.`}
      </dd>
    </>
  );
}
