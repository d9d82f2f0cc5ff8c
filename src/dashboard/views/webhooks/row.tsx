import type { Webhook, WebhookHealth } from '../../../client/types.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { Network } from '../../components/values/network.tsx';
import { Countdown, Time } from '../../components/values/time.tsx';
import { Address } from '../../components/values/url.tsx';
import { type Deletion, deleteLater } from './deletions.ts';

type RowProps = {
  webhook: Webhook;
  /** Null where nothing speaks against it. */
  health: WebhookHealth | null;
  /** Not null while it is about to be deleted. */
  deletion: Deletion | null;
  onEdit: () => void;
  onTest: () => void;
  onResume: () => void;
};

const WRITE = 'webhooks:write';

const REASONS: Readonly<Record<string, string>> = {
  gone: 'Its receiver answered 410 Gone',
  failing: 'Five days without one success',
};

export function WebhookRow({ webhook, health, deletion, onEdit, onTest, onResume }: RowProps) {
  const suspended = health?.state === 'suspended';
  const look = deletion !== null ? 'going' : suspended ? 'suspended' : '';
  return (
    <tr class={look}>
      <td>
        <div class="cut">
          <Address url={webhook.postUrl} />
        </div>
        <div class="only-phone small">
          {webhook.event} · <Network networkId={webhook.networkId} /> · <Time seconds={webhook.dateCreated} />
        </div>
        <div class="webhook-id">
          <code class="muted">{webhook.webhookId}</code>
          <CopyButton text={webhook.webhookId} label={`Copy the id of ${nameOf(webhook)}`} compact />
        </div>
        {suspended ? <Suspended health={health} onResume={onResume} name={nameOf(webhook)} /> : null}
      </td>
      <td class="not-phone">{webhook.event}</td>
      <td class="not-phone">
        <Network networkId={webhook.networkId} />
      </td>
      <td class="not-phone">
        <Time seconds={webhook.dateCreated} />
      </td>
      <td class="row-actions">
        {deletion === null ? (
          <Actions name={nameOf(webhook)} onEdit={onEdit} onTest={onTest} onDelete={() => deleteLater(webhook)} />
        ) : (
          <span class="going-note">
            Deleted in <Countdown untilMs={deletion.untilMs} />
            <button type="button" class="button button-small" onClick={deletion.undo} ref={takeFocus}>
              <Icon name="undo" size={14} />
              Undo
            </button>
          </span>
        )}
      </td>
    </tr>
  );
}

/** The button that was pressed is gone; whoever works by keyboard goes on from the one in its place. */
function takeFocus(button: HTMLButtonElement | null): void {
  if (document.activeElement === document.body) button?.focus();
}

function nameOf({ event, networkId, postUrl }: Webhook): string {
  return `${event} on network ${networkId} to ${postUrl}`;
}

type ActionsProps = { name: string; onEdit: () => void; onTest: () => void; onDelete: () => void };

function Actions({ name, onEdit, onTest, onDelete }: ActionsProps) {
  return (
    <div class="row-buttons">
      <ActionButton needs={WRITE} class="button button-small" label={`Send a test: ${name}`} onClick={onTest}>
        <Icon name="deliveries" size={14} />
        <span class="not-phone">Test</span>
      </ActionButton>
      <ActionButton
        needs={WRITE}
        class="button button-icon"
        title="Change the URL"
        label={`Edit ${name}`}
        onClick={onEdit}
      >
        <Icon name="edit" />
      </ActionButton>
      <ActionButton needs={WRITE} class="button button-icon" title="Delete" label={`Delete ${name}`} onClick={onDelete}>
        <Icon name="trash" />
      </ActionButton>
    </div>
  );
}

function Suspended({ health, onResume, name }: { health: WebhookHealth; onResume: () => void; name: string }) {
  return (
    <div class="suspension">
      <Badge tone="warning" icon="pause">
        Suspended
      </Badge>
      <ActionButton needs={WRITE} class="button button-small" label={`Resume ${name}`} onClick={onResume}>
        <Icon name="play" size={12} />
        Resume
      </ActionButton>
      <p class="small">
        {REASONS[health.reason ?? ''] ?? 'Taken out of service'}
        {health.dateLastFailure === null ? null : (
          <span class="muted">
            {' '}
            · last failure <Time seconds={health.dateLastFailure} />
          </span>
        )}
      </p>
    </div>
  );
}
