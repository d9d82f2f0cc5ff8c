import { PastTheEnd } from '../../components/lists/past-the-end.tsx';
import { Empty } from '../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { clearFilters } from './filters.tsx';

export function NoEndpoints() {
  return (
    <Empty icon="endpoints" title="No endpoints yet">
      <p>A URL appears here as soon as a webhook is registered for it.</p>
      <Link to={DASHBOARD_PATHS.webhooks} class="button button-primary">
        Go to webhooks
      </Link>
    </Empty>
  );
}

/** There are endpoints, but none on this page or for these filters. */
export function NoMatches({ total, limit }: { total: number; limit: number }) {
  if (total > 0) return <PastTheEnd total={total} limit={limit} />;
  return (
    <Empty icon="search" title="No matching endpoints">
      <p>No endpoint matches these filters.</p>
      <button type="button" class="button" onClick={clearFilters}>
        Show all endpoints
      </button>
    </Empty>
  );
}
