import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Curl } from '../../components/values/copy.tsx';
import { Empty } from '../../components/view/states.tsx';

const FIRST_REGISTRATION = {
  postUrl: 'https://example.com/hooks/paybell',
  networkIds: [8453],
  events: ['TransferFinalized'],
};

export function NoWebhooks({ register }: { register: () => void }) {
  return (
    <Empty icon="notification" title="No webhooks yet">
      <p>Register a URL for the networks and events you need. Paybell sends every matching event to it, signed.</p>
      <ActionButton needs="webhooks:write" class="button button-primary" onClick={register}>
        <Icon name="plus" />
        Register your first webhook
      </ActionButton>
      <p>Or use the API:</p>
      <Curl method="POST" path="/webhooks/classic" body={FIRST_REGISTRATION} />
    </Empty>
  );
}
