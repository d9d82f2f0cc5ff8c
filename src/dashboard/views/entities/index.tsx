import type { AttentionQuery, EntityAttention } from '../../../client/admin.ts';
import { asProblem, paybell } from '../../api.ts';
import { DataTable } from '../../components/lists/data-table.tsx';
import { FilterBar, FilterText } from '../../components/lists/filters.tsx';
import { List } from '../../components/lists/list.tsx';
import { useListState } from '../../components/lists/use-list.ts';
import { showToast } from '../../components/toasts.tsx';
import { countOf } from '../../components/values/count-text.ts';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Empty } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { useLiveResponse } from '../../live.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { navigate } from '../../router.tsx';
import { switchEntity } from '../../session.ts';
import { columnsOf, LEVEL_TONES } from './columns.tsx';

/** The server reads all entities for one page. */
const POLL_MS = 10_000;
const WORST_FIRST = { field: 'urgency', dir: 'desc' } as const;

/** An operator's home: all entities, worst first. */
export function Entities() {
  const list = useListState(['search'], WORST_FIRST);
  const response = useLiveResponse(
    JSON.stringify(list.parameters),
    (signal) => paybell().admin.listAttention(list.parameters as AttentionQuery, { signal }),
    POLL_MS,
  );
  return (
    <>
      <ViewHead title="Entities" description="Each entity is a tenant. The ones that need attention come first.">
        <LiveSwitch />
      </ViewHead>
      <FilterBar list={list}>
        <FilterText of={list} name="search" label="Search" placeholder="Name or ID" problem={response.problem} isWide />
      </FilterBar>
      <List
        what="entities"
        state={list}
        response={response}
        rowsOf={({ entities }) => entities}
        none={<NoEntities />}
        above={({ needAttention }) => (
          <p class="small muted list-note" role="status">
            {needAttention === 0
              ? 'Nothing needs attention'
              : countOf(needAttention, 'entity needs attention', 'entities need attention')}
          </p>
        )}
      >
        {(entities, busy) => (
          <DataTable
            name="entities row-links"
            caption="Entities"
            columns={columnsOf((entity) => void open(entity))}
            rows={entities}
            keyOf={({ entityId }) => entityId}
            rowClass={({ level }) => `row-${LEVEL_TONES[level]}`}
            busy={busy}
          />
        )}
      </List>
    </>
  );
}

/** The server records the visit before the dashboard of the entity opens. */
async function open({ entityId, name }: EntityAttention): Promise<void> {
  try {
    await paybell().admin.visitEntity(entityId);
  } catch (error) {
    showToast({ tone: 'bad', text: `${name} was not opened. ${asProblem(error).detail}` });
    return;
  }
  navigate(DASHBOARD_PATHS.overview);
  switchEntity(entityId);
}

function NoEntities() {
  return (
    <Empty icon="lock" title="No entities yet">
      <p>
        Create one with <code>paybell entities create --name &lt;name&gt;</code>.
      </p>
    </Empty>
  );
}
