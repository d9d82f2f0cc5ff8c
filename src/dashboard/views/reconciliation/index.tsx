import type { Reconciliation as Figures } from '../../../client/events/reconciliations.ts';
import { type ApiProblem, inputError, paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { countText } from '../../components/values/count-text.ts';
import { Empty, Failure, Loading, ProblemAlert } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { changeQuery, useRoute } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { yesterday } from './days.ts';
import { differenceText } from './differences.ts';
import { Digest } from './digest.tsx';
import { Filters } from './filters.tsx';
import { TokensTable } from './tokens-table.tsx';
import { TotalsTable } from './totals-table.tsx';

/** Whether receivers acknowledged every event of a day, and the digest to compare with your records. */
export function Reconciliation() {
  const { query } = useRoute();
  const day = query.get('day') ?? yesterday();
  const networkId = query.get('networkId') ?? '';
  const endpointId = query.get('endpointId') ?? '';
  const { data, problem, loading, isStale, reload } = useResponse(`${day} ${networkId} ${endpointId}`, (signal) =>
    paybell().reconciliations.get(
      {
        day,
        ...(networkId !== '' && { networkId: networkId as unknown as number }),
        ...(endpointId !== '' && { endpointId }),
      },
      { signal },
    ),
  );
  return (
    <>
      <ViewHead
        title="Reconcile"
        description="Events accepted, sent and acknowledged on a day, to compare with your records."
      >
        <button type="button" class="button" disabled={loading} onClick={() => void reload()}>
          <Icon name="retry" />
          Refresh
        </button>
      </ViewHead>
      <Filters day={day} networkId={networkId} endpointId={endpointId} problem={isStale ? null : problem} />
      {data === null ? (
        problem === null || isStale ? (
          <Loading what="the figures of the day" />
        ) : (
          <NoFigures problem={problem} reload={reload} />
        )
      ) : (
        <>
          {problem === null ? null : <ProblemAlert problem={problem} />}
          <Day figures={data} networkId={networkId} busy={loading} />
        </>
      )}
    </>
  );
}

type DayProps = { figures: Figures; networkId: string; busy: boolean };

function Day({ figures, networkId, busy }: DayProps) {
  if (figures.events === 0) {
    return (
      <>
        <Empty icon="check" title={`No events on ${figures.day}`}>
          <p>
            Nothing was accepted{whichEvents(networkId, figures.endpointId)}
            {figures.isOver ? '' : ' so far; the day is not over'}. Your records for it should be empty too.
          </p>
        </Empty>
        <TokensTable reconciliation={figures} />
      </>
    );
  }
  return (
    <>
      <Verdict figures={figures} />
      <Digest reconciliation={figures} networkId={networkId} />
      <TotalsTable reconciliation={figures} busy={busy} />
      <TokensTable reconciliation={figures} />
    </>
  );
}

function whichEvents(networkId: string, endpointId: string | null): string {
  if (endpointId === null) return networkId === '' ? '' : ' for this network';
  return networkId === '' ? ' for this endpoint' : ' for this network and endpoint';
}

/** Shows a difference, or that every event was acknowledged. */
function Verdict({ figures }: { figures: Figures }) {
  const difference = differenceText(figures);
  const { day, endpointId, events, isOver } = figures;
  return (
    <p class={`alert ${difference === null ? 'alert-good' : 'alert-bad'} day-verdict`} role="status">
      <Icon name={difference === null ? 'check' : 'alert'} />
      <span>
        <strong>
          {difference ??
            (events === 1 ? 'The one event was acknowledged.' : `All ${countText(events)} events were acknowledged.`)}
        </strong>{' '}
        {endpointId === null ? null : 'Only this endpoint counts here. '}
        {isOver ? null : `${day} is not over in UTC, so more events can come.`}
      </span>
    </p>
  );
}

/** Shown for a day without correct figures: it has not begun, or retention has removed some of its events. */
function NoFigures({ problem, reload }: { problem: ApiProblem; reload: () => Promise<void> }) {
  const message = inputError(problem, 'day');
  if (message === null && inputError(problem, 'endpointId') !== null) {
    return (
      <Empty icon="alert" title="No such endpoint">
        <p>The link names an endpoint that this entity does not have.</p>
        <button type="button" class="button" onClick={() => changeQuery({ endpointId: null })}>
          Show all endpoints
        </button>
      </Empty>
    );
  }
  if (message === null) return <Failure problem={problem} reload={reload} />;
  return (
    <Empty icon="clock" title="No figures for this day">
      <p>The day {message}.</p>
      <button type="button" class="button" onClick={() => changeQuery({ day: null })}>
        Show yesterday
      </button>
    </Empty>
  );
}
