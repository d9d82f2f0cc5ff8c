import type { Source } from '../../../client/chain/sources.ts';
import { paybell } from '../../api.ts';
import { type Column, createdColumn, DataTable } from '../../components/lists/data-table.tsx';
import { Address } from '../../components/values/address.tsx';
import { Badge, type Display } from '../../components/values/badge.tsx';
import { countOf } from '../../components/values/count-text.ts';
import { PartProblem } from '../../components/view/loaded.tsx';
import { Section } from '../../components/view/section.tsx';
import { Loading } from '../../components/view/states.tsx';
import { useResponse } from '../../use-response.ts';
import { AddSource } from '../sources/add-source.tsx';

const STATES: Readonly<Record<Source['state'], Display>> = {
  live: { label: 'Live', tone: 'good', icon: 'check' },
  catching_up: { label: 'Catching up', tone: 'info', icon: 'clock' },
  paused: { label: 'Paused', tone: 'warning', icon: 'pause' },
};

const COLUMNS: readonly Column<Source>[] = [
  {
    name: 'name',
    header: 'Source',
    width: 'rest',
    cell: ({ name, preset, event, sourceId }) => (
      <>
        <div class="cut">
          <strong>{name ?? preset ?? event}</strong>
        </div>
        <div class="cut small muted">
          <code>{sourceId}</code>
        </div>
      </>
    ),
  },
  {
    name: 'contract',
    header: 'Contract',
    width: '12rem',
    narrow: { below: 'small', line: 'cell' },
    cell: ({ contract }) => <Address value={contract} label="contract" />,
  },
  {
    name: 'state',
    header: 'State',
    width: '14rem',
    narrow: { below: 'medium', line: 'cell' },
    cell: (source) => <SourceState source={source} />,
  },
  createdColumn('Created', { width: '8rem', narrowWidth: '6.5rem' }),
];

/** The entity's sources that read from the network. */
export function NetworkSources({ networkId }: { networkId: number }) {
  const { data, problem, reload } = useResponse(String(networkId), (signal) =>
    paybell().sources.list({ networkId, limit: 100 }, { signal }),
  );
  return (
    <Section title="Sources" actions={<AddSource networkId={networkId} onAdded={() => void reload()} />}>
      <PartProblem problem={problem} what="Sources" />
      {data === null && problem === null ? <Loading what="sources" /> : null}
      {data === null ? null : data.sources.length === 0 ? (
        <p class="muted small">No source reads payments from this network.</p>
      ) : (
        <DataTable
          name="sources"
          caption="Sources"
          columns={COLUMNS}
          rows={data.sources}
          keyOf={({ sourceId }) => sourceId}
        />
      )}
    </Section>
  );
}

function SourceState({ source: { state, pausedReason, blocksLeft } }: { source: Source }) {
  return (
    <>
      <Badge {...STATES[state]} />
      {pausedReason === null ? null : <div class="small">{pausedReason}</div>}
      {state === 'catching_up' && blocksLeft !== null ? (
        <div class="small muted">{countOf(blocksLeft, 'block')} left</div>
      ) : null}
    </>
  );
}
