import type { EntityAttention } from '../../../client/admin.ts';
import { type Column, numberColumn } from '../../components/lists/data-table.tsx';
import { Badge, type Tone } from '../../components/values/badge.tsx';
import { countText } from '../../components/values/count-text.ts';
import { durationText } from '../../components/values/duration-text.ts';

export const LEVEL_TONES: Readonly<Record<EntityAttention['level'], Tone>> = {
  urgent: 'bad',
  warning: 'warning',
  none: 'good',
};

type Open = (entity: EntityAttention) => void;

export function columnsOf(open: Open): readonly Column<EntityAttention>[] {
  return [
    {
      name: 'entity',
      header: 'Entity',
      width: 'rest',
      cell: (entity) => (
        <>
          <button type="button" class="row-link" onClick={() => open(entity)}>
            {entity.name}
          </button>
          <div class="cut small muted mono">{entity.entityId}</div>
        </>
      ),
    },
    {
      name: 'endpoints',
      header: 'State',
      width: '20rem',
      narrow: { below: 'medium', line: 'cell' },
      cell: (entity) => <Troubles entity={entity} />,
    },
    numberColumn('overdue', 'Overdue', ({ dateOldestDue }) => <Overdue seconds={dateOldestDue} />, {
      ...{ width: '6.5rem', title: 'How late the oldest due delivery is' },
    }),
    numberColumn('waiting', 'Backlog', ({ waiting }) => countText(waiting), { narrowWidth: '5rem' }),
    numberColumn('events', 'Events, 1 h', ({ eventsLastHour }) => countText(eventsLastHour), { below: 'small' }),
    numberColumn('failures', 'Failures, 1 h', ({ failuresLastHour }) => countText(failuresLastHour), {
      below: 'small',
    }),
  ];
}

function Overdue({ seconds }: { seconds: number | null }) {
  if (seconds === null) return <span class="muted">–</span>;
  return <span class="error-text">{durationText(Date.now() - seconds * 1000)}</span>;
}

function Troubles({ entity }: { entity: EntityAttention }) {
  const { level, failingEndpoints, suspendedEndpoints, pausedEndpoints, pausedSources, dateOldestDue } = entity;
  if (level === 'none') return <Badge tone="good" icon="check" label="Active" />;
  const counts = [
    { count: suspendedEndpoints, tone: 'bad', icon: 'alert', text: 'suspended' },
    { count: failingEndpoints, tone: 'bad', icon: 'alert', text: 'failing' },
    { count: pausedEndpoints, tone: 'warning', icon: 'pause', text: 'paused' },
    {
      count: pausedSources,
      tone: 'warning',
      icon: 'pause',
      text: pausedSources === 1 ? 'source paused' : 'sources paused',
    },
  ] as const;
  const shown = counts.filter(({ count }) => count > 0);
  return (
    <span class="actions">
      {shown.map(({ count, tone, icon, text }) => (
        <Badge key={text} {...{ tone, icon }} label={`${countText(count)} ${text}`} />
      ))}
      {shown.length === 0 && dateOldestDue !== null ? <Badge tone="bad" icon="clock" label="Overdue" /> : null}
    </span>
  );
}
