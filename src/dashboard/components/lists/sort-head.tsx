import { changeQuery } from '../../router.tsx';
import { Icon } from '../icon.tsx';

type Direction = 'asc' | 'desc';

export type SortOrder = { readonly field: string; readonly dir: Direction };

type SortHeadProps = {
  /** The API's field. */
  name: string;
  header: string;
  firstDir: Direction;
  /** The URL, and the order of the list without one in the URL. */
  list: { readonly query: URLSearchParams; readonly byDefault: SortOrder };
  class: string;
  style: Readonly<Record<string, string>>;
};

/** A sortable column header. */
export function SortHead({ name, header, firstDir, list: { query, byDefault }, ...attributes }: SortHeadProps) {
  const sorted = (query.get('sortBy') ?? byDefault.field) === name;
  const direction = (query.get('sortDir') ?? byDefault.dir) === 'asc' ? 'asc' : 'desc';
  const next = !sorted ? firstDir : direction === 'asc' ? 'desc' : 'asc';
  return (
    <th {...attributes} scope="col" aria-sort={sorted ? (direction === 'asc' ? 'ascending' : 'descending') : undefined}>
      <button type="button" class="sort" onClick={() => changeQuery({ sortBy: name, sortDir: next, page: null })}>
        {header}
        {sorted ? <Icon name={direction === 'asc' ? 'up' : 'down'} size={12} /> : null}
      </button>
    </th>
  );
}
