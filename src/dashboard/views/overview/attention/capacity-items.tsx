import type { Delivery } from '../../../../client/deliveries.ts';
import type { Stats } from '../../../../client/paybell.ts';
import { countText } from '../../../components/values/count-text.ts';
import { durationText } from '../../../components/values/duration-text.ts';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { urlFor } from '../../../router.tsx';
import { bytesText, shareText } from '../figures.ts';
import { AttentionItem } from './item.tsx';

/** Shorter delays are part of normal operation. */
const OVERDUE_MS = 60_000;

/** The share of a limit above which the limit needs attention. */
const NEAR = 0.8;

export function isOverdue(stats: Stats | null): boolean {
  return stats !== null && stats.backlog.oldestDueAgeMs >= OVERDUE_MS;
}

export function isNearLimit(used: number, limit: number | null): boolean {
  return limit !== null && used >= limit * NEAR;
}

/** The oldest overdue delivery, and limits that are nearly reached. */
export function CapacityItems({ stats, overdue }: { stats: Stats; overdue: Delivery | null }) {
  const { backlog, storage } = stats;
  const byNextAttempt = { sortBy: 'dateNextAttempt', sortDir: 'asc', delivery: overdue?.deliveryId };
  return (
    <>
      {isOverdue(stats) ? (
        <AttentionItem
          tone="warning"
          icon="clock"
          action={{ label: 'Show overdue deliveries', to: urlFor(DASHBOARD_PATHS.deliveries, byNextAttempt) }}
        >
          The oldest waiting delivery is <strong>{durationText(backlog.oldestDueAgeMs)}</strong> overdue.
        </AttentionItem>
      ) : null}
      {isNearLimit(backlog.waiting, backlog.limit) ? (
        <AttentionItem
          tone={backlog.waiting >= backlog.limit ? 'bad' : 'warning'}
          icon="alert"
          action={{
            label: 'Show endpoints by backlog',
            to: urlFor(DASHBOARD_PATHS.endpoints, { sortBy: 'waiting', sortDir: 'desc' }),
          }}
        >
          The backlog is at <strong>{shareText(backlog.waiting, backlog.limit)}</strong> of its limit:{' '}
          {countText(backlog.waiting)} of {countText(backlog.limit)} deliveries wait. At the limit, new events are
          refused.
        </AttentionItem>
      ) : null}
      <StorageItem storage={storage} />
    </>
  );
}

function StorageItem({ storage: { usedBytes, limitBytes } }: { storage: Stats['storage'] }) {
  if (limitBytes === null || !isNearLimit(usedBytes, limitBytes)) return null;
  const action = { label: 'Show oldest deliveries', to: urlFor(DASHBOARD_PATHS.deliveries, { sortDir: 'asc' }) };
  return (
    <AttentionItem tone={usedBytes >= limitBytes ? 'bad' : 'warning'} icon="alert" action={action}>
      The storage is at <strong>{shareText(usedBytes, limitBytes)}</strong> of its limit: {bytesText(usedBytes)} of{' '}
      {bytesText(limitBytes)}. At the limit, new events are refused. The operator can raise{' '}
      <code>ENTITY_STORAGE_LIMIT</code> or keep deliveries for a shorter time.
    </AttentionItem>
  );
}
