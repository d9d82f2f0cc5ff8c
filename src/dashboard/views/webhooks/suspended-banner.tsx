import type { Coverage } from '../../../client/webhooks.ts';
import { networkName } from '../../../domain/networks.ts';
import { Icon } from '../../components/icon.tsx';
import { countOf } from '../../components/values/count-text.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';

const MAX_SHOWN = 4;

/** Links to the suspended webhooks, which may be on other pages of the list. */
export function SuspendedBanner({ coverage }: { coverage: Coverage | null }) {
  const cells = (coverage?.networks ?? []).flatMap(({ networkId, events }) =>
    events.filter(({ suspended }) => suspended > 0).map(({ event, suspended }) => ({ networkId, event, suspended })),
  );
  if (cells.length === 0) return null;
  const total = cells.reduce((sum, { suspended }) => sum + suspended, 0);
  return (
    <p class="alert alert-warning">
      <Icon name="pause" />
      <span>
        <strong>{countOf(total, 'webhook is', 'webhooks are')} suspended.</strong>{' '}
        {total === 1
          ? 'Its deliveries are held until you resume it'
          : 'Their deliveries are held until you resume them'}
        :{' '}
        {cells.slice(0, MAX_SHOWN).map(({ networkId, event, suspended }, index) => (
          <span key={`${networkId} ${event}`}>
            {index === 0 ? '' : ', '}
            <Link to={urlFor(DASHBOARD_PATHS.webhooks, { networkId, event })}>
              {event} on {networkName(networkId)}
            </Link>
            {suspended === 1 ? '' : ` (${suspended})`}
          </span>
        ))}
        {cells.length > MAX_SHOWN ? `, and ${cells.length - MAX_SHOWN} more` : ''}.
      </span>
    </p>
  );
}
