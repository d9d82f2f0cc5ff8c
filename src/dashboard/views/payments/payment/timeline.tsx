import type { PaymentDetail, PaymentTimelineEntry } from '../../../../client/chain/payments.ts';
import type { IconName } from '../../../components/icon.tsx';
import { countOf, countText } from '../../../components/values/count-text.ts';
import { ClockTime, Time } from '../../../components/values/time.tsx';
import { type Mark, Timeline, TimelineStep } from '../../../components/values/timeline.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { waitText } from '../words.ts';

type Display = { readonly title: string; readonly mark: Mark; readonly icon: IconName };

const STEPS: Readonly<Record<PaymentTimelineEntry['what'], Display>> = {
  waiting: { title: 'Announced, not in a block yet', mark: 'neutral', icon: 'clock' },
  seen: { title: 'Seen in', mark: 'neutral', icon: 'check' },
  moved: { title: 'Moved to', mark: 'warning', icon: 'retry' },
  lost: { title: 'Lost: gone from', mark: 'warning', icon: 'alert' },
  back: { title: 'Back in', mark: 'neutral', icon: 'check' },
  safe: { title: 'Safe', mark: 'good', icon: 'check' },
  final: { title: 'Final in', mark: 'good', icon: 'double' },
  disputed: { title: 'Disputed: nodes disagree about', mark: 'warning', icon: 'alert' },
  retracted: { title: 'Retracted', mark: 'bad', icon: 'undo' },
  event: { title: 'accepted', mark: 'neutral', icon: 'events' },
  delivered: { title: 'delivered', mark: 'good', icon: 'deliveries' },
  failed: { title: 'failed: no more attempts', mark: 'bad', icon: 'cross' },
};

const WITH_BLOCK: readonly PaymentTimelineEntry['what'][] = ['seen', 'moved', 'lost', 'back', 'final', 'disputed'];
/** Every step of a payment, oldest first, and the step that it waits for. */
export function PaymentTimeline({ payment }: { payment: PaymentDetail }) {
  const { timeline, waitsFor, webhooks, events } = payment;
  const kinds = new Map(events.map(({ eventId, event }) => [eventId, event]));
  const urls = new Map(webhooks.map(({ webhookId, postUrl }) => [webhookId, postUrl]));
  return (
    <Timeline label="Steps of the payment">
      {timeline.map((entry, index) => (
        <Step
          key={index}
          entry={entry}
          kind={kinds.get(entry.eventId) ?? null}
          isFirst={index === 0}
          url={urls.get(entry.webhookId ?? '') ?? null}
        />
      ))}
      {waitsFor === null ? null : (
        <TimelineStep mark="next" icon="clock">
          <p>
            <strong>{waitText(waitsFor, Date.now() / 1000)}</strong>
          </p>
          <p class="muted">{countOf(waitsFor.webhooks, 'webhook waits', 'webhooks wait')}</p>
        </TimelineStep>
      )}
    </Timeline>
  );
}

type StepProps = { entry: PaymentTimelineEntry; kind: string | null; isFirst: boolean; url: string | null };

function Step({ entry, kind, isFirst, url }: StepProps) {
  const { what, date, eventId } = entry;
  const { title, mark, icon } = STEPS[what];
  return (
    <TimelineStep mark={mark} icon={icon}>
      <p>
        <strong>
          {eventId === null ? null : (
            <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })} title={eventId}>
              {kind ?? 'Event'}
            </Link>
          )}{' '}
          {title} {blockOf(entry)}
        </strong>
      </p>
      <p class="muted">{isFirst ? <Time seconds={date} /> : <ClockTime milliseconds={date * 1000} />}</p>
      {url === null ? null : <p class="small muted cut">to {url}</p>}
    </TimelineStep>
  );
}

function blockOf({ what, blockNumber }: PaymentTimelineEntry): string {
  if (!WITH_BLOCK.includes(what)) return '';
  return blockNumber === null ? 'a block' : `block ${countText(blockNumber)}`;
}
