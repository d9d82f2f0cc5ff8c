import { useMemo } from 'preact/hooks';
import { DEFAULT_LIMIT } from '../../../contract/list-query.ts';
import { changeQuery, useRoute } from '../../router.tsx';
import type { SortOrder } from './sort-head.tsx';
import { rangeStart } from './time-range.ts';

/** Filters under their API names, as text. */
export type Filters = Readonly<Record<string, string>>;

/** Filters, and the function that changes one of them: in the URL of a list, or in a dialog. */
export type Filtering = { readonly filters: Filters; readonly change: (name: string, value: string) => void };

/** The state of a list, from the URL, which holds the parameters of the list operation under their API names. */
export type ListState = Filtering & {
  readonly query: URLSearchParams;
  readonly page: number;
  readonly limit: number;
  /** Passed on as text, unchecked, because the server reports mistakes. */
  readonly parameters: Filters;
  readonly isFiltered: boolean;
  readonly byDefault: SortOrder;
  readonly clear: () => void;
};

const PAGING = ['page', 'limit', 'sortBy', 'sortDir'];
const TIMES = ['since', 'until'];
const NEWEST_FIRST: SortOrder = { field: 'dateCreated', dir: 'desc' };

/**
 * Reads the filters with these names. A time range counts from the moment at which it appears in the URL, and replaces
 * dates.
 */
export function useListState(names: readonly string[], byDefault = NEWEST_FIRST): ListState {
  const { query } = useRoute();
  const range = names.includes('since') ? query.get('range') : null;
  const start = useMemo(() => rangeStart(range, Date.now()), [range]);
  const pick = (wanted: readonly string[]) => Object.fromEntries([...query].filter(([name]) => wanted.includes(name)));
  const filters = { ...pick(names), ...(start !== null && { since: start }) };
  return {
    query,
    page: Number(query.get('page') ?? 1),
    limit: Number(query.get('limit') ?? DEFAULT_LIMIT),
    filters,
    parameters: { ...filters, ...pick(PAGING) },
    isFiltered: Object.keys(filters).length > 0,
    byDefault,
    // Changing a filter returns to the first page, because the page number belongs to the previous results.
    change: (name, value) =>
      changeQuery({ ...(TIMES.includes(name) && { range: null }), [name]: value.trim(), page: null }),
    clear: () => changeQuery(Object.fromEntries([...names, 'range', 'payload', 'page'].map((name) => [name, null]))),
  };
}
