import { paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';

const number = new Intl.NumberFormat();

/** Where no delivery is found, the events of the text may have been accepted all the same. */
export function UndeliveredEvents({ q }: { q: string }) {
  const { data, loading } = useResponse(q, (signal) => paybell().events.list({ q, limit: 25 }, { signal }));
  if (loading || data === null || data.totalResults === 0) return null;
  const { totalResults, events } = data;
  const isOne = totalResults === 1;
  const reachedNone = events.length === totalResults && events.every(({ matched }) => !matched);
  return (
    <p class="alert alert-warning undelivered" role="status">
      <Icon name="alert" />
      <span>
        {reachedNone ? (
          <>
            Paybell has accepted {isOne ? 'an event' : `${number.format(totalResults)} events`} with this ID, but{' '}
            <strong>{isOne ? 'it reached no webhook' : 'none of them reached a webhook'}</strong>, so nothing was sent.
          </>
        ) : (
          <>
            Paybell has accepted {isOne ? 'an event' : `${number.format(totalResults)} events`} with this ID. No
            delivery of {isOne ? 'it' : 'them'} matches all filters.
          </>
        )}
      </span>
      <Link class="button button-small" to={urlFor(DASHBOARD_PATHS.events, { q })}>
        {isOne ? 'Show the event' : 'Show the events'}
      </Link>
    </p>
  );
}
