import type { DeliveryCounts } from '../../../../client/deliveries.ts';
import { DELIVERY_STATUSES } from '../../../../domain/attempt.ts';
import { countText } from '../../../components/values/count-text.ts';
import { type Tab, Tabs } from '../../../components/view/tabs.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { urlFor } from '../../../router.tsx';
import { STATUS_DISPLAY } from '../delivery-status.tsx';

const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/** A tab has no room for more digits. Its tooltip has all of them. */
const COMPACT_FROM = 100_000;

type TabsProps = { query: URLSearchParams; chosen: string; counts: DeliveryCounts | null };

export function StatusTabs({ query, chosen, counts }: TabsProps) {
  const values = Object.fromEntries(query);
  const urlOf = (status: string | null) =>
    urlFor(DASHBOARD_PATHS.deliveries, { ...values, status, page: null, delivery: null });
  const tabs = DELIVERY_STATUSES.map((status): Tab => {
    const { label, tone, icon, description } = STATUS_DISPLAY[status];
    // Colours deliveries that need attention, because people easily miss them among large numbers of other deliveries.
    const needsSomeone = (tone === 'bad' || tone === 'warning') && (counts?.[status] ?? 0) > 0;
    return {
      ...{ to: urlOf(status), label, icon, title: description, isChosen: chosen === status },
      ...{ tone: needsSomeone ? tone : null, count: <Count count={counts?.[status]} /> },
    };
  });
  const all: Tab = { to: urlOf(null), label: 'All', isChosen: chosen === '', count: <Count count={counts?.total} /> };
  return <Tabs label="Status" tabs={[all, ...tabs]} />;
}

function Count({ count }: { count: number | undefined }) {
  if (count === undefined) return null;
  return (
    <span class="tab-count number" title={countText(count)}>
      {count < COMPACT_FROM ? countText(count) : compact.format(count)}
    </span>
  );
}
