import type { Webhook, WebhookHealth } from '../../../client/webhooks.ts';
import type { Finality } from '../../../domain/chain/finality.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { finalityWords } from '../../components/values/finality-words.ts';
import { Network } from '../../components/values/network.tsx';
import { Countdown, Time } from '../../components/values/time.tsx';
import { UrlText } from '../../components/values/url.tsx';
import { STATE_DISPLAY } from '../endpoints/state-badge.tsx';
import { type Deletion, scheduleDeletion } from './pending-deletions.ts';
import type { WebhookState } from './use-states.ts';

type RowProps = {
  webhook: Webhook;
  /** Null unless the webhook may be suspended. */
  health: WebhookHealth | null;
  /** Null where it is not known. */
  state: WebhookState | null;
  /** Null for the default of the event. */
  finality: Finality | null;
  /** Not null while the deletion can still be undone. */
  deletion: Deletion | null;
  onEdit: () => void;
  onOptions: () => void;
  onTest: () => void;
  onResume: () => void;
};

const WRITE = 'webhooks:write';

const REASONS: Readonly<Record<string, string>> = {
  gone: 'The endpoint responded with 410 Gone',
  failing: 'All attempts have failed for 5 days',
};

export function WebhookRow(props: RowProps) {
  const { webhook, health, state, finality, deletion, onEdit, onOptions, onTest, onResume } = props;
  const suspended = health?.state === 'suspended';
  const className = deletion !== null ? 'deleting' : suspended ? 'suspended' : '';
  return (
    <tr class={className}>
      <td>
        <div class="cut">
          <UrlText url={webhook.postUrl} />
        </div>
        <div class="only-phone small">
          {webhook.event}
          {finality === null ? null : ` · Finality: ${finalityWords(finality)}`} ·{' '}
          <Network networkId={webhook.networkId} /> · <Time seconds={webhook.dateCreated} />
        </div>
        <div class="webhook-id">
          <State state={state} />
          <code class="muted">{webhook.webhookId}</code>
          <CopyButton text={webhook.webhookId} label={`Copy the ID of ${nameOf(webhook)}`} compact />
        </div>
        {suspended ? <Suspended health={health} onResume={onResume} name={nameOf(webhook)} /> : null}
      </td>
      <td class="not-phone">
        {webhook.event}
        {finality === null ? null : (
          <div class="small muted" title="How sure an event from a network has to be before it is delivered">
            Finality: {finalityWords(finality)}
          </div>
        )}
      </td>
      <td class="not-phone">
        <Network networkId={webhook.networkId} />
      </td>
      <td class="not-phone">
        <Time seconds={webhook.dateCreated} />
      </td>
      <td class="row-actions">
        {deletion === null ? (
          <Actions
            name={nameOf(webhook)}
            {...{ onEdit, onOptions, onTest }}
            onDelete={() => scheduleDeletion(webhook)}
          />
        ) : (
          <span class="deletion-note">
            Deleting in <Countdown untilMs={deletion.untilMs} />
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

/** A suspended webhook says more of its state than its name. */
function State({ state }: { state: WebhookState | null }) {
  if (state === null || state === 'suspended') return null;
  const { label, tone, icon } = STATE_DISPLAY[state];
  return (
    <span {...(state === 'paused' && { title: PAUSED })}>
      <Badge tone={tone} icon={icon}>
        {label}
      </Badge>
    </span>
  );
}

const PAUSED = 'Its endpoint is paused: deliveries are held until someone resumes it';

/** The delete button, which had the focus, is gone. Keyboard users continue on the undo button in its place. */
function takeFocus(button: HTMLButtonElement | null): void {
  if (document.activeElement === document.body) button?.focus();
}

function nameOf({ event, networkId, postUrl }: Webhook): string {
  return `${event} on network ${networkId} to ${postUrl}`;
}

type ActionsProps = Pick<RowProps, 'onEdit' | 'onOptions' | 'onTest'> & { name: string; onDelete: () => void };

function Actions({ name, onEdit, onOptions, onTest, onDelete }: ActionsProps) {
  return (
    <div class="row-buttons">
      <ActionButton needs={WRITE} class="button button-small" label={`Send test event: ${name}`} onClick={onTest}>
        <Icon name="deliveries" size={14} />
        <span class="not-phone">Test</span>
      </ActionButton>
      <ActionButton
        needs="webhooks:read"
        class="button button-icon"
        title="Options"
        label={`Options of ${name}`}
        onClick={onOptions}
      >
        <Icon name="filter" />
      </ActionButton>
      <ActionButton needs={WRITE} class="button button-icon" title="Edit URL" label={`Edit ${name}`} onClick={onEdit}>
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
        {REASONS[health.reason ?? ''] ?? 'Suspended'}
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
