import type { DeliveryCounts } from '../../../../client/deliveries.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../../domain/attempt.ts';
import { Icon } from '../../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { STATUS_DISPLAY } from '../delivery-status.tsx';

const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat();

/** A tab has no room for more digits. Its tooltip has all of them. */
const COMPACT_FROM = 100_000;

type TabsProps = { query: URLSearchParams; chosen: string; counts: DeliveryCounts | null };

export function StatusTabs({ query, chosen, counts }: TabsProps) {
  const values = Object.fromEntries(query);
  const urlOf = (status: string | null) =>
    urlFor(DASHBOARD_PATHS.deliveries, { ...values, status, page: null, delivery: null });
  return (
    <nav class="tabs" aria-label="Status">
      <Link to={urlOf(null)} class="tab" aria-current={chosen === '' ? 'page' : undefined}>
        All
        <Count count={counts?.total} />
      </Link>
      {DELIVERY_STATUSES.map((status) => (
        <Link
          key={status}
          to={urlOf(status)}
          class={tabClass(status, counts)}
          title={STATUS_DISPLAY[status].description}
          aria-current={chosen === status ? 'page' : undefined}
        >
          <Icon name={STATUS_DISPLAY[status].icon} size={12} />
          {STATUS_DISPLAY[status].label}
          <Count count={counts?.[status]} />
        </Link>
      ))}
    </nav>
  );
}

/** What needs someone is coloured, because it is easily missed among large numbers of others. */
function tabClass(status: DeliveryStatus, counts: DeliveryCounts | null): string {
  const { tone } = STATUS_DISPLAY[status];
  const needsSomeone = (tone === 'bad' || tone === 'warning') && (counts?.[status] ?? 0) > 0;
  return needsSomeone ? `tab tab-${tone}` : 'tab';
}

function Count({ count }: { count: number | undefined }) {
  if (count === undefined) return null;
  return (
    <span class="tab-count number" title={exact.format(count)}>
      {count < COMPACT_FROM ? exact.format(count) : compact.format(count)}
    </span>
  );
}
