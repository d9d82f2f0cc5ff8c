import { type ApiProblem, inputError } from '../../../api.ts';
import { Field } from '../../../components/field.tsx';
import { Icon } from '../../../components/icon.tsx';
import { changeQuery } from '../../../router.tsx';
import { DateTimeField } from '../../deliveries/filters/filter-fields.tsx';
import { TimePresets } from '../../deliveries/filters/time-presets.tsx';
import { ACTION_WORDS } from './words.ts';

/** The filters of the list operation under their API names. */
export const FILTER_NAMES = ['action', 'actor', 'target', 'since', 'until'] as const;

const NO_FILTERS = Object.fromEntries([...FILTER_NAMES, 'range', 'page'].map((name) => [name, null]));

export function clearFilters(): void {
  changeQuery(NO_FILTERS);
}

type FiltersProps = {
  query: URLSearchParams;
  values: Readonly<Record<string, string>>;
  filtered: boolean;
  problem: ApiProblem | null;
};

export function AuditFilters({ query, values, filtered, problem }: FiltersProps) {
  const change = (name: string, value: string) => changeQuery({ [name]: value.trim(), page: null });
  const range = query.get('range');
  const custom = range === null && (query.has('since') || query.has('until'));
  return (
    <search class="delivery-filters">
      <div class="filters">
        <TimePresets label="Changed" range={range} since={values.since} until={values.until} />
        {custom ? (
          <>
            <DateTimeField label="From" name="since" onChange={change} {...{ values, problem }} />
            <DateTimeField label="Until" name="until" onChange={change} {...{ values, problem }} />
          </>
        ) : null}
        <Field label="Change" error={inputError(problem, 'action')}>
          {(control) => (
            <select
              {...control}
              value={values.action ?? ''}
              onChange={(event) => change('action', event.currentTarget.value)}
            >
              <option value="">All changes</option>
              {Object.entries(ACTION_WORDS).map(([action, words]) => (
                <option key={action} value={action}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        <TextField label="Made by" name="actor" placeholder="key_… or paybell" {...{ values, change }} />
        <TextField label="Object" name="target" placeholder="wh_…, ep_…, key_…" {...{ values, change }} />
        <button type="button" class="button" disabled={!filtered} onClick={clearFilters}>
          <Icon name="cross" size={14} />
          Clear
        </button>
      </div>
    </search>
  );
}

type TextFieldProps = {
  label: string;
  name: string;
  placeholder: string;
  values: FiltersProps['values'];
  change: (name: string, value: string) => void;
};

function TextField({ label, name, placeholder, values, change }: TextFieldProps) {
  return (
    <Field label={label}>
      {(control) => (
        <input
          {...control}
          type="search"
          class="mono"
          placeholder={placeholder}
          spellcheck={false}
          value={values[name] ?? ''}
          onChange={(event) => change(name, event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
