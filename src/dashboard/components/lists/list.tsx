import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { ResponseState } from '../../use-response.ts';
import type { IconName } from '../icon.tsx';
import { Loaded } from '../view/loaded.tsx';
import { Empty } from '../view/states.tsx';
import { Pager } from './pager.tsx';
import { PastTheEnd } from './past-the-end.tsx';
import type { ListState } from './use-list.ts';

type Page = { readonly totalResults: number; readonly isTotalExact?: boolean };

type ListProps<Data extends Page, Row> = {
  /** The things in plural, in lower case. */
  what: string;
  state: ListState;
  response: ResponseState<Data>;
  rowsOf: (data: Data) => readonly Row[];
  /** Shown instead of an empty list. */
  none: ComponentChildren;
  /** Shown if nothing matches the filters. */
  noMatch?: ComponentChildren;
  above?: (data: Data) => ComponentChildren;
  /** Leaves the pagination out of a list that fits on a page. */
  isShort?: boolean;
  children: (rows: readonly Row[], busy: boolean, data: Data) => ComponentChildren;
};

/** A page of a list or its replacement, with the position in the list. */
export function List<Data extends Page, Row>({
  what,
  state,
  response,
  rowsOf,
  children,
  ...props
}: ListProps<Data, Row>) {
  const { page, limit, isFiltered, clear } = state;
  // The position of the rows on screen. The rows stay while another page is loading.
  const from = useRef(1);
  if (!response.isStale) from.current = (page - 1) * limit + 1;
  return (
    <Loaded response={response} what={what}>
      {(data) => {
        const rows = rowsOf(data);
        const { totalResults: total, isTotalExact = true } = data;
        const isWhole = props.isShort === true && total <= Math.min(limit, rows.length);
        return (
          <>
            {props.above?.(data)}
            {rows.length > 0 ? (
              children(rows, response.isStale, data)
            ) : total > 0 ? (
              <PastTheEnd total={total} limit={limit} />
            ) : isFiltered ? (
              (props.noMatch ?? <NoMatch what={what} clear={clear} />)
            ) : (
              props.none
            )}
            {total === 0 || isWhole ? null : (
              <Pager {...{ total, page, limit, what }} isExact={isTotalExact} from={from.current} shown={rows.length} />
            )}
          </>
        );
      }}
    </Loaded>
  );
}

type NoMatchProps = {
  what: string;
  clear: () => void;
  icon?: IconName;
  title?: string;
  children?: ComponentChildren;
};

/** Shown if the list has rows, but none for these filters. The children can say more than that. */
export function NoMatch({ what, clear, icon = 'search', title = `No matching ${what}`, children }: NoMatchProps) {
  return (
    <Empty icon={icon} title={title}>
      {children ?? <p>Nothing matches these filters.</p>}
      <button type="button" class="button" onClick={clear}>
        Show all {what}
      </button>
    </Empty>
  );
}
