import type { EntityAttention } from '../../../client/admin.ts';
import type { Column, NarrowSize } from '../../components/lists/data-table.tsx';
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
    {
      name: 'overdue',
      header: 'Overdue',
      title: 'How long the oldest due delivery is late',
      width: '6.5rem',
      align: 'end',
      cell: ({ dateOldestDue }) =>
        dateOldestDue === null ? (
          <span class="muted">–</span>
        ) : (
          <span class="error-text">{durationText(Date.now() - dateOldestDue * 1000)}</span>
        ),
    },
    countColumn('waiting', 'Backlog'),
    countColumn('eventsLastHour', 'Events, 1 h', 'small'),
    countColumn('failuresLastHour', 'Failures, 1 h', 'small'),
  ];
}

function countColumn(
  name: 'waiting' | 'eventsLastHour' | 'failuresLastHour',
  header: string,
  below?: NarrowSize,
): Column<EntityAttention> {
  return {
    ...{ name, header, width: '7.5rem', narrowWidth: '5rem', align: 'end' },
    ...(below && { narrow: { below } }),
    cell: (entity) => countText(entity[name]),
  };
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
