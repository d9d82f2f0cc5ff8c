import type { DeliveryList } from '../../../client/deliveries.ts';
import { Icon } from '../../components/icon.tsx';
import { countOf } from '../../components/values/count-text.ts';
import { Time } from '../../components/values/time.tsx';
import { changeQuery } from '../../router.tsx';

/** The API refuses to search for shorter texts. */
const MIN_CHARS = 3;

/** Offers a search in payloads if no ID, URL or host matches. Without a time range, the search covers the last day. */
export function OfferPayloadSearch({ q, since }: { q: string; since: string | undefined }) {
  if (q.length < MIN_CHARS) return null;
  const search = () =>
    changeQuery({
      ...{ payload: q, q: null, page: null, sortBy: null, sortDir: null },
      ...(since === undefined && { range: '1d' }),
    });
  return (
    <button type="button" class="button button-primary" onClick={search}>
      <Icon name="search" size={14} />
      {since === undefined ? 'Search in the payloads of the last day' : 'Search in payloads'}
    </button>
  );
}

type SearchedProps = { payload: string; searched: NonNullable<DeliveryList['searched']> };

/** Shows how far a search in payloads has looked, because it does not cover all deliveries. */
export function Searched({ payload, searched: { deliveries, dateOldest } }: SearchedProps) {
  return (
    <p class="alert searched" role="status">
      <Icon name="info" />
      <span>
        Searched for <q>{payload}</q> in the payloads of the newest{' '}
        <strong class="number">{countOf(deliveries, 'delivery', 'deliveries')}</strong>
        {dateOldest === null ? null : (
          <>
            , back to <Time seconds={dateOldest} />
          </>
        )}
        .
      </span>
      <button type="button" class="button button-small" onClick={() => changeQuery({ q: payload, payload: null })}>
        Search IDs and URLs
      </button>
    </p>
  );
}
