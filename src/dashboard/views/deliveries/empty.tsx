import { PastTheEnd } from '../../components/lists/past-the-end.tsx';
import { Empty } from '../../components/lists/states.tsx';
import { Curl } from '../../components/values/copy.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link } from '../../router.tsx';

/** A first event to paste: it needs no more than its kind and its network. */
const FIRST = { event: 'TransferFinalized', networkId: 8453, transferId: 'trf_1', amount: '25.00', currency: 'USDC' };

export function NoneYet() {
  return (
    <Empty icon="deliveries" title="Nothing has been sent yet">
      <p>
        A delivery is one event on its way to one webhook. With a <Link to={DASHBOARD_PATHS.webhooks}>webhook</Link>{' '}
        registered for it, send a first event and watch it arrive here:
      </p>
      <Curl method="POST" path="/events" body={FIRST} />
    </Empty>
  );
}

/** Deliveries there are, but not where the address looks. */
export function NothingHere({ total, limit, clear }: { total: number; limit: number; clear: () => void }) {
  if (total > 0) return <PastTheEnd total={total} limit={limit} />;
  return (
    <Empty icon="search" title="No delivery matches">
      <p>
        None is in this state, or of this event, network, webhook and time. New ones that match appear by themselves.
      </p>
      <button type="button" class="button" onClick={clear}>
        Show all deliveries
      </button>
    </Empty>
  );
}
