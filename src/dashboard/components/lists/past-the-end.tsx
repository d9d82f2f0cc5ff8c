import { changeQuery } from '../../router.tsx';
import { Empty } from './states.tsx';

/** There are some, but none on the page that the address names. */
export function PastTheEnd({ total, limit }: { total: number; limit: number }) {
  return (
    <Empty icon="search" title="This page is past the end">
      <p>The list is shorter than it was, or the address names a page that never was.</p>
      <button type="button" class="button" onClick={() => changeQuery({ page: Math.ceil(total / limit) })}>
        Go to the last page
      </button>
    </Empty>
  );
}
