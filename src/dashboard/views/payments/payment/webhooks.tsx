import type { PaymentDetail, PaymentWebhook } from '../../../../client/chain/payments.ts';
import { finalityOf } from '../../../../domain/chain/finality.ts';
import { MAX_WEBHOOKS_SHOWN } from '../../../../domain/chain/payments.ts';
import { Badge, type Display } from '../../../components/values/badge.tsx';
import { finalityWords } from '../../../components/values/finality-words.ts';
import { UrlText } from '../../../components/values/url.tsx';
import { Section } from '../../../components/view/section.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';

const STATUSES: Readonly<Record<PaymentWebhook['status'], Display>> = {
  delivered: { label: 'Delivered', tone: 'good', icon: 'check' },
  retrying: { label: 'Retrying', tone: 'warning', icon: 'retry' },
  failed: { label: 'Failed', tone: 'bad', icon: 'cross' },
  held: { label: 'Held', tone: 'neutral', icon: 'pause' },
  waits: { label: 'Waits', tone: 'info', icon: 'clock' },
  not_wanted: { label: 'Not wanted', tone: 'neutral', icon: 'minus' },
  retracted: { label: 'Retracted', tone: 'bad', icon: 'undo' },
};

/** The status of each webhook, with the reason if it does not have the event. */
export function PaymentWebhooks({ payment: { webhooks, networkId } }: { payment: PaymentDetail }) {
  return (
    <Section title="Webhooks" isCard>
      {webhooks.length === 0 ? (
        <p class="muted small">
          No webhook is registered for the events of this payment.{' '}
          <Link to={urlFor(DASHBOARD_PATHS.webhooks, { networkId })}>Go to webhooks</Link>
        </p>
      ) : (
        <ul class="payment-webhooks">
          {webhooks.map((webhook) => (
            <WebhookItem key={webhook.webhookId} webhook={webhook} />
          ))}
        </ul>
      )}
      {webhooks.length < MAX_WEBHOOKS_SHOWN ? null : (
        <p class="muted small">These are the first {MAX_WEBHOOKS_SHOWN} webhooks.</p>
      )}
    </Section>
  );
}

function WebhookItem({ webhook }: { webhook: PaymentWebhook }) {
  const { webhookId, postUrl, event, finality, status, deliveryId, reason } = webhook;
  return (
    <li>
      <div class="payment-webhook-head">
        <Badge {...STATUSES[status]} />
        <strong>{event}</strong>
        <span class="small muted">at {finalityWords(finalityOf(finality))}</span>
      </div>
      <p class="cut small">
        <Link to={urlFor(DASHBOARD_PATHS.webhooks, { webhookId })}>
          <UrlText url={postUrl} />
        </Link>
      </p>
      {reason === null ? null : <p class="small">{reason}</p>}
      {deliveryId === null ? null : (
        <p class="small">
          <Link to={urlFor(DASHBOARD_PATHS.deliveries, { delivery: deliveryId })}>Show its requests</Link>
        </p>
      )}
    </li>
  );
}
