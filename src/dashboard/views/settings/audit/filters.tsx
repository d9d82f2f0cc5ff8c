import type { ApiProblem } from '../../../api.ts';
import { ClearButton, FilterSelect, FilterText } from '../../../components/lists/filters.tsx';
import { hasOwnDates, TimePresets } from '../../../components/lists/time-presets.tsx';
import type { ListState } from '../../../components/lists/use-list.ts';
import { DateFields } from '../../deliveries/filters/filter-fields.tsx';
import { ACTION_WORDS } from './words.ts';

const ACTIONS = Object.entries(ACTION_WORDS);

export function AuditFilters({ list: of, problem }: { list: ListState; problem: ApiProblem | null }) {
  return (
    <search class="delivery-filters">
      <div class="filters">
        <TimePresets list={of} label="Changed" />
        {hasOwnDates(of) ? <DateFields of={of} problem={problem} /> : null}
        <FilterSelect {...{ of, problem }} name="action" label="Change" all="All changes" options={ACTIONS} />
        <FilterText of={of} name="actor" label="Made by" placeholder="key_… or paybell" />
        <FilterText of={of} name="target" label="Object" placeholder="wh_…, ep_…, key_…" />
        <ClearButton {...of} />
      </div>
    </search>
  );
}
