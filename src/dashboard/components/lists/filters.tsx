import type { ComponentChildren } from 'preact';
import { type ApiProblem, inputError } from '../../api.ts';
import { changeQuery } from '../../router.tsx';
import { Icon } from '../icon.tsx';
import { EndedField, type Option, SelectField } from '../inputs.tsx';
import type { Filtering, ListState } from './use-list.ts';

type FilterProps = { of: Filtering; name: string; label: string; problem?: ApiProblem | null };

/** A filter with choices, beginning with `all`. */
export function FilterSelect({
  of: { filters, change },
  name,
  label,
  problem = null,
  all,
  options,
}: FilterProps & { all: string; options: readonly Option[] }) {
  return (
    <SelectField
      label={label}
      error={inputError(problem, name)}
      value={filters[name] ?? ''}
      options={[['', all], ...options]}
      onChoose={(value) => change(name, value)}
    />
  );
}

type TextProps = FilterProps & { placeholder: string; isWide?: boolean };

/** A filter for an exact text, such as an id. It applies when the input ends. */
export function FilterText({ of: { filters, change }, name, label, problem = null, placeholder, isWide }: TextProps) {
  return (
    <EndedField
      label={label}
      error={inputError(problem, name)}
      field={isWide ? 'field-grow' : ''}
      type="search"
      class="mono"
      placeholder={placeholder}
      spellcheck={false}
      value={filters[name] ?? ''}
      onEnd={(text) => change(name, text)}
    />
  );
}

export function ClearButton({ isFiltered, clear }: Pick<ListState, 'isFiltered' | 'clear'>) {
  return (
    <button type="button" class="button" disabled={!isFiltered} onClick={clear}>
      <Icon name="cross" size={14} />
      Clear
    </button>
  );
}

/** Replaces the heads of sortable columns on a phone. An option is a field with a direction. */
export function SortSelect({ list: { query, byDefault }, options }: { list: ListState; options: readonly Option[] }) {
  const sort = (value: string) => {
    const [sortBy, sortDir] = value.split(' ');
    changeQuery({ sortBy, sortDir, page: null });
  };
  return (
    <SelectField
      label="Sort by"
      field="only-phone"
      value={`${query.get('sortBy') ?? byDefault.field} ${query.get('sortDir') ?? byDefault.dir}`}
      options={options}
      onChoose={sort}
    />
  );
}

/** The filters of a list in a row, and the button that clears them. */
export function FilterBar({ list, children }: { list: ListState; children: ComponentChildren }) {
  return (
    <search class="filters">
      {children}
      <ClearButton {...list} />
    </search>
  );
}
