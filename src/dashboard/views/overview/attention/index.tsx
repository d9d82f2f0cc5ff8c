import type { Chain, ChainList } from '../../../../client/chain/chains.ts';
import type { SourceList } from '../../../../client/chain/sources.ts';
import type { EndpointList } from '../../../../client/endpoints.ts';
import type { Stats } from '../../../../client/paybell.ts';
import type { ApiProblem } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { PartProblem } from '../../../components/view/loaded.tsx';
import { CapacityItems, isNearLimit, isOverdue } from './capacity-items.tsx';
import { FailedItem, MissedItem } from './delivery-items.tsx';
import { EndpointItems, holding, PausedItems } from './endpoint-items.tsx';
import { NetworkItems, SourceItems } from './network-items.tsx';
import { type UnhealthyEndpoints, useMostOverdue } from './use-attention.ts';

type AttentionProps = {
  stats: Stats | null;
  networks: ChainList | null;
  endpoints: UnhealthyEndpoints | null;
  paused: EndpointList | null;
  /** How many events of the last day reached no webhook. */
  missed: number | null;
  /** How many deliveries are failed now. */
  failed: number | null;
  /** The time range of the statistics in words. */
  period: string;
  /** Why a part is unknown; the problem is null if another part of the view shows it. */
  problems: readonly NotKnown[];
  sources: SourceList | null;
};

type NotKnown = { readonly what: string; readonly problem: ApiProblem | null };

/** Everything that needs attention, each as a sentence with one action; a quiet line if nothing does. */
export function Attention(props: AttentionProps) {
  const { stats, networks, endpoints, paused, missed, failed, period, problems, sources } = props;
  const overdue = useMostOverdue(isOverdue(stats));
  const halted = (networks?.chains ?? []).filter(({ state }) => state === 'halted');
  const failedInPeriod = failed === null || failed === 0 ? 0 : (stats?.total.failed ?? 0);
  const count = countItems({ ...props, halted }) + (failedInPeriod > 0 ? 1 : 0);
  // While one of these is unknown, the view cannot say that nothing needs attention.
  const isKnown = stats !== null && endpoints !== null && paused !== null && missed !== null;
  if (count === 0 && !isKnown) return <Unknown problems={problems} />;
  if (count === 0) {
    return (
      <p class="attention-calm small muted" role="status">
        <Icon name="check" size={14} /> Nothing needs attention
      </p>
    );
  }
  return (
    <section class="attention" aria-labelledby="attention-heading">
      <h2 id="attention-heading">Needs attention</h2>
      <Unknown problems={problems} />
      <ul class="card attention-items">
        <NetworkItems halted={halted} />
        {endpoints === null ? null : <EndpointItems {...endpoints} />}
        {paused === null ? null : <PausedItems paused={paused} />}
        {failedInPeriod === 0 || failed === null ? null : (
          <FailedItem inPeriod={failedInPeriod} now={failed} period={period} />
        )}
        {missed === null ? null : <MissedItem events={missed} />}
        {stats === null ? null : <CapacityItems stats={stats} overdue={overdue} />}
        {sources === null ? null : <SourceItems paused={sources} />}
      </ul>
    </section>
  );
}

function Unknown({ problems }: { problems: readonly NotKnown[] }) {
  return (
    <>
      {problems.map(({ what, problem }) => (
        <PartProblem key={what} what={what} problem={problem} />
      ))}
    </>
  );
}

type Counted = Pick<AttentionProps, 'stats' | 'endpoints' | 'paused' | 'missed' | 'sources'> & {
  halted: readonly Chain[];
};

function countItems({ stats, halted, endpoints, paused, missed, sources }: Counted): number {
  const limits = stats === null ? [] : [[stats.backlog.waiting, stats.backlog.limit] as const];
  const stored = stats === null ? [] : [[stats.storage.usedBytes, stats.storage.limitBytes] as const];
  return (
    halted.length +
    (endpoints === null ? 0 : endpoints.suspended.totalResults + endpoints.failing.totalResults) +
    holding(paused).length +
    (missed === null || missed === 0 ? 0 : 1) +
    (isOverdue(stats) ? 1 : 0) +
    [...limits, ...stored].filter(([used, limit]) => isNearLimit(used, limit)).length +
    (sources?.totalResults ?? 0)
  );
}
