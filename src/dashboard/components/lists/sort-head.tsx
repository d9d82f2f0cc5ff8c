import { changeQuery } from '../../router.tsx';
import { Icon } from '../icon.tsx';

type Direction = 'asc' | 'desc';

export type SortOrder = { readonly field: string; readonly dir: Direction };

type SortHeadProps = {
  field: string;
  label: string;
  firstDir: Direction;
  query: URLSearchParams;
  /** The sort of the list without one in the URL. */
  byDefault?: SortOrder;
  class?: string;
  style?: Readonly<Record<string, string>>;
};

const NEWEST_FIRST = { field: 'dateCreated', dir: 'desc' } as const;

/** A sortable column header. */
export function SortHead({ field, label, firstDir, query, byDefault = NEWEST_FIRST, ...attributes }: SortHeadProps) {
  const sorted = (query.get('sortBy') ?? byDefault.field) === field;
  const direction = (query.get('sortDir') ?? byDefault.dir) === 'asc' ? 'asc' : 'desc';
  const next = !sorted ? firstDir : direction === 'asc' ? 'desc' : 'asc';
  return (
    <th {...attributes} scope="col" aria-sort={sorted ? (direction === 'asc' ? 'ascending' : 'descending') : undefined}>
      <button type="button" class="sort" onClick={() => changeQuery({ sortBy: field, sortDir: next, page: null })}>
        {label}
        {sorted ? <Icon name={direction === 'asc' ? 'up' : 'down'} size={12} /> : null}
      </button>
    </th>
  );
}
