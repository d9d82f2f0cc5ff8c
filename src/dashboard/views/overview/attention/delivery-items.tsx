import { countOf, countText } from '../../../components/values/count-text.ts';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { urlFor } from '../../../router.tsx';
import { AttentionItem } from './item.tsx';

/** Events of the last day that reached no webhook. */
export function MissedItem({ events }: { events: number }) {
  if (events === 0) return null;
  const to = urlFor(DASHBOARD_PATHS.events, { matched: 'false', range: '1d' });
  return (
    <AttentionItem tone="warning" icon="events" action={{ label: 'Show these events', to }}>
      <strong>{countOf(events, 'event')}</strong> of the last day reached no webhook and {events === 1 ? 'was' : 'were'}{' '}
      not sent.
    </AttentionItem>
  );
}

type FailedProps = {
  /** How many deliveries failed permanently in the period, and how many are failed now. */
  inPeriod: number;
  now: number;
  period: string;
};

/** A delivery fails days after it was accepted, so the link leads to all failed deliveries, not only to recent ones. */
export function FailedItem({ inPeriod, now, period }: FailedProps) {
  const to = urlFor(DASHBOARD_PATHS.deliveries, { status: 'failed' });
  return (
    <AttentionItem tone="bad" icon="cross" action={{ label: `Show ${countText(now)} failed`, to }}>
      <strong>{countOf(inPeriod, 'delivery', 'deliveries')}</strong> failed permanently in {period}.{' '}
      {countOf(now, 'is', 'are')} failed now and can be resent.
    </AttentionItem>
  );
}
