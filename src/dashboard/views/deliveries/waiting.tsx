import type { Delivery, WaitsFor } from '../../../client/deliveries.ts';
import { waitsForText } from '../../../contract/deliveries/waits-for-text.ts';
import type { Permission } from '../../../domain/keys/api-keys.ts';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { runAction } from '../../components/run-action.ts';
import { durationText } from '../../components/values/duration-text.ts';
import { momentText } from '../../components/values/time.tsx';
import { DASHBOARD_PATHS, endpointPath } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { actorText } from '../settings/audit/words.ts';

const FORMAT = {
  at: momentText,
  duration: durationText,
  actor: (actor: string, name: string | null) => name ?? actorText(actor) ?? actor,
};

/** Why a delivery was not sent yet, as a sentence. */
export function waitingText(waits: WaitsFor): string {
  const text = waitsForText(waits, Date.now() / 1000, FORMAT);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

type WaitingProps = { delivery: Delivery; waits: WaitsFor; reload: () => Promise<void> };

/** Why a delivery was not sent yet, with the button that helps. */
export function Waiting({ delivery, waits, reload }: WaitingProps) {
  return (
    <div class="alert alert-warning waiting" role="status">
      <Icon name={waits.kind === 'paused' || waits.kind === 'suspended' ? 'pause' : 'clock'} />
      <p>{waitingText(waits)}.</p>
      <Help {...{ delivery, waits, reload }} />
    </div>
  );
}

function Help({ delivery: { endpointId, webhookId }, waits: { kind, deliveryId }, reload }: WaitingProps) {
  const { endpoints, webhooks } = paybell();
  const done = 'Resumed. Held deliveries are being sent.';
  const resume = (run: () => Promise<unknown>) => async () => {
    if (await runAction(run, done, 'Not resumed.')) await reload();
  };
  if (kind === 'suspended') return <Resume run={resume(() => webhooks.resume(webhookId))} text="Resume" />;
  if (kind === 'paused' && endpointId !== null) {
    return <Resume run={resume(() => endpoints.resume(endpointId))} text="Resume endpoint" />;
  }
  if (kind === 'order' && deliveryId !== null) {
    return <Leads to={urlFor(DASHBOARD_PATHS.deliveries, { delivery: deliveryId })} text="Show that delivery" />;
  }
  if ((kind === 'receiver' || kind === 'rate_limit') && endpointId !== null) {
    return <Leads to={endpointPath(endpointId)} text="Show endpoint" />;
  }
  return null;
}

const WRITE: Permission = 'webhooks:write';

function Resume({ run, text }: { run: () => Promise<void>; text: string }) {
  return (
    <ActionButton needs={WRITE} class="button button-small button-primary" onClick={() => void run()}>
      <Icon name="play" size={12} />
      {text}
    </ActionButton>
  );
}

function Leads({ to, text }: { to: string; text: string }) {
  return (
    <Link to={to} class="button button-small">
      {text}
    </Link>
  );
}
