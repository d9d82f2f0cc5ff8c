import { changeQuery } from '../../router.tsx';
import { Icon } from '../icon.tsx';

type SortHeadProps = { field: string; label: string; first: 'asc' | 'desc'; query: URLSearchParams; class?: string };

/** The head of a column that sorts. Every list sorts by creation, newest first, when the address says nothing. */
export function SortHead({ field, label, first, query, class: look }: SortHeadProps) {
  const sorted = (query.get('sortBy') ?? 'dateCreated') === field;
  const direction = query.get('sortDir') === 'asc' ? 'asc' : 'desc';
  const next = !sorted ? first : direction === 'asc' ? 'desc' : 'asc';
  return (
    <th scope="col" class={look} aria-sort={sorted ? (direction === 'asc' ? 'ascending' : 'descending') : undefined}>
      <button type="button" class="sort" onClick={() => changeQuery({ sortBy: field, sortDir: next, page: null })}>
        {label}
        {sorted ? <Icon name={direction === 'asc' ? 'up' : 'down'} size={12} /> : null}
      </button>
    </th>
  );
}
