import { Icon } from '../../components/icon.tsx';
import { PastTheEnd } from '../../components/lists/past-the-end.tsx';
import { Empty } from '../../components/lists/states.tsx';
import { Curl } from '../../components/values/copy.tsx';
import { changeQuery } from '../../router.tsx';

/** A first registration to paste; what is left out means all that are known. */
const FIRST = { postUrl: 'https://example.com/hooks/paybell', networkIds: [8453], events: ['TransferFinalized'] };

export function NoneYet({ register }: { register: () => void }) {
  return (
    <Empty icon="bell" title="Nobody is told anything yet">
      <p>Register a URL for some networks and events. Paybell then posts every such event to it, signed.</p>
      <button type="button" class="button button-primary" onClick={register}>
        <Icon name="plus" />
        Register the first webhook
      </button>
      <p>Or from a terminal:</p>
      <Curl method="POST" path="/webhooks/classic" body={FIRST} />
    </Empty>
  );
}

/** Webhooks there are, but not where the address looks. */
export function NothingHere({ total, limit }: { total: number; limit: number }) {
  if (total > 0) return <PastTheEnd total={total} limit={limit} />;
  return (
    <Empty icon="search" title="No webhook matches">
      <p>Nothing is registered for this choice of network, event and id.</p>
      <button
        type="button"
        class="button"
        onClick={() => changeQuery({ networkId: null, event: null, webhookId: null, page: null })}
      >
        Show all webhooks
      </button>
    </Empty>
  );
}
