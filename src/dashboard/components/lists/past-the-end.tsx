import { changeQuery } from '../../router.tsx';
import { Empty } from '../view/states.tsx';

/** Shown if the list has rows, but not on the page in the URL. */
export function PastTheEnd({ total, limit }: { total: number; limit: number }) {
  return (
    <Empty icon="search" title="No results on this page">
      <p>The list has fewer pages than the URL asks for.</p>
      <button type="button" class="button" onClick={() => changeQuery({ page: Math.ceil(total / limit) })}>
        Go to last page
      </button>
    </Empty>
  );
}
