import { type ApiProblem, inputError } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { NetworkOptions } from '../../components/values/network.tsx';
import { changeQuery } from '../../router.tsx';
import { useKnown } from '../deliveries/filters/filter-fields.tsx';
import { dayAfter, dayOf } from './days.ts';

type FiltersProps = { day: string; networkId: string; problem: ApiProblem | null };

export function Filters({ day, networkId, problem }: FiltersProps) {
  const { networks } = useKnown();
  const today = dayOf(Date.now());
  const go = (days: number) => changeQuery({ day: dayAfter(day, days) });
  return (
    <search class="filters day-filters">
      <button type="button" class="button button-icon day-step" aria-label="Previous day" onClick={() => go(-1)}>
        <Icon name="left" />
      </button>
      <Field label="Day (UTC)" error={inputError(problem, 'day')}>
        {(control) => (
          <input
            {...control}
            type="date"
            max={today}
            value={day}
            onChange={({ currentTarget: { value } }) => (value === '' ? undefined : changeQuery({ day: value }))}
          />
        )}
      </Field>
      <button
        type="button"
        class="button button-icon day-step"
        aria-label="Next day"
        disabled={day >= today}
        onClick={() => go(1)}
      >
        <Icon name="right" />
      </button>
      <Field label="Network" error={inputError(problem, 'networkId')}>
        {(control) => (
          <select
            {...control}
            value={networkId}
            onChange={(event) => changeQuery({ networkId: event.currentTarget.value })}
          >
            <option value="">All networks</option>
            <NetworkOptions networks={networks} chosen={networkId} />
          </select>
        )}
      </Field>
    </search>
  );
}
