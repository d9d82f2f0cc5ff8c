import { changeQuery } from '../../router.tsx';
import { Icon } from '../icon.tsx';

type SortHeadProps = { field: string; label: string; firstDir: 'asc' | 'desc'; query: URLSearchParams; class?: string };

/** A sortable column header. Without a sort in the URL, every list is sorted by creation, newest first. */
export function SortHead({ field, label, firstDir, query, class: className }: SortHeadProps) {
  const sorted = (query.get('sortBy') ?? 'dateCreated') === field;
  const direction = query.get('sortDir') === 'asc' ? 'asc' : 'desc';
  const next = !sorted ? firstDir : direction === 'asc' ? 'desc' : 'asc';
  return (
    <th
      scope="col"
      class={className}
      aria-sort={sorted ? (direction === 'asc' ? 'ascending' : 'descending') : undefined}
    >
      <button type="button" class="sort" onClick={() => changeQuery({ sortBy: field, sortDir: next, page: null })}>
        {label}
        {sorted ? <Icon name={direction === 'asc' ? 'up' : 'down'} size={12} /> : null}
      </button>
    </th>
  );
}
