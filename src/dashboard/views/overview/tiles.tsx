import type { DeliveryCounts } from '../../../client/deliveries.ts';
import type { Stats } from '../../../client/paybell.ts';
import type { DeliveryStatus } from '../../../domain/attempt.ts';
import { countOf, countText } from '../../components/values/count-text.ts';
import { durationText } from '../../components/values/duration-text.ts';
import { Tile } from '../../components/view/tile.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { attemptRate, deliveryRate, rateText } from './figures.ts';
import { type PeriodCounts, searchFor } from './use-counts.ts';

type TilesProps = {
  stats: Stats;
  /** Null while the counts are unknown. */
  counts: DeliveryCounts | null;
  ofPeriod: PeriodCounts | null;
  /** Null for all destinations. */
  destination: string | null;
};

/** The figures of the time range, and the deliveries that wait or failed. Each link leads to the deliveries that it counts. */
export function Tiles({ stats: { total, backlog }, counts, ofPeriod, destination }: TilesProps) {
  const { p50, p95, p99 } = total.timeToReceiptMs;
  return (
    <dl class="tiles">
      <Tile name="Accepted" value={countText(total.accepted)}>
        {total.events === null ? 'deliveries to this destination' : `deliveries of ${countOf(total.events, 'event')}`}
      </Tile>
      <Tile name="Delivered" value={countText(total.delivered)}>
        in this period, including resends
      </Tile>
      <SuccessTile total={total} ofPeriod={ofPeriod} />
      <Tile name="Delivery latency" value={timeText(p50)} unit="p50">
        p95&nbsp;<strong>{timeText(p95)}</strong> · p99&nbsp;<strong>{timeText(p99)}</strong>
      </Tile>
      {counts === null ? null : (
        <StoredTiles
          counts={counts}
          ofPeriod={ofPeriod}
          q={destination === null ? null : searchFor(destination)}
          overdueMs={destination === null ? backlog.oldestDueAgeMs : 0}
        />
      )}
    </dl>
  );
}

/** The rate counts attempts and not deliveries, because attempts show an outage at once. */
function SuccessTile({ total, ofPeriod }: { total: Stats['total']; ofPeriod: PeriodCounts | null }) {
  const ofAttempts = attemptRate(total);
  const ofDeliveries = ofPeriod === null ? null : deliveryRate(ofPeriod.counts);
  if (ofAttempts === null) {
    return (
      <Tile name="Success rate" value={rateText(ofDeliveries)}>
        {COMPLETED}
      </Tile>
    );
  }
  return (
    <Tile name="Success rate" value={rateText(ofAttempts)} unit="of attempts" isBad={ofAttempts < ALARMING_RATE}>
      <strong>{rateText(ofDeliveries)}</strong> {COMPLETED}
    </Tile>
  );
}

const COMPLETED = 'of completed deliveries of this period';

const ALARMING_RATE = 0.9;

type StoredProps = {
  counts: DeliveryCounts;
  ofPeriod: PeriodCounts | null;
  q: string | null;
  overdueMs: number;
};

function StoredTiles({ counts, ofPeriod, q, overdueMs }: StoredProps) {
  const { pending, retrying, held, failed } = counts;
  return (
    <>
      <Tile name="Backlog" value={countText(pending + retrying)} unit="waiting">
        <StatusLink q={q} status="pending" count={pending} /> · <StatusLink q={q} status="retrying" count={retrying} />
        {held === 0 ? null : (
          <>
            {' '}
            · <StatusLink q={q} status="held" count={held} />
          </>
        )}
        {overdueMs === 0 ? null : ` · oldest ${durationText(overdueMs)} overdue`}
      </Tile>
      <Tile name="Failed" value={countText(failed)} unit="permanently">
        {failed === 0 ? 'none' : <StatusLink q={q} status="failed" count={failed} />}
        {ofPeriod === null || ofPeriod.counts.failed === 0 ? null : (
          <>
            {' '}
            ·{' '}
            <Link to={urlFor(DASHBOARD_PATHS.deliveries, { q, status: 'failed', since: ofPeriod.since })}>
              {countText(ofPeriod.counts.failed)} of this period
            </Link>
          </>
        )}
      </Tile>
    </>
  );
}

function StatusLink({ q, status, count }: { q: string | null; status: DeliveryStatus; count: number }) {
  if (count === 0) return <>0 {status}</>;
  return (
    <Link to={urlFor(DASHBOARD_PATHS.deliveries, { q, status })}>
      {countText(count)} {status}
    </Link>
  );
}

function timeText(ms: number | null): string {
  return ms === null ? '–' : durationText(ms);
}
