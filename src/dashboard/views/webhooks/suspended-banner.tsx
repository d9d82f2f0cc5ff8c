import type { Coverage } from '../../../client/types.ts';
import { networkName } from '../../../domain/networks.ts';
import { Icon } from '../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { addressOf, Link } from '../../router.tsx';

const MOST_SHOWN = 4;

/** Says at once that something is out of service, and leads to it however long the list is. */
export function SuspendedBanner({ coverage }: { coverage: Coverage | null }) {
  const cells = (coverage?.networks ?? []).flatMap(({ networkId, events }) =>
    events.filter(({ suspended }) => suspended > 0).map(({ event, suspended }) => ({ networkId, event, suspended })),
  );
  if (cells.length === 0) return null;
  const total = cells.reduce((sum, { suspended }) => sum + suspended, 0);
  return (
    <p class="notice notice-warning">
      <Icon name="pause" />
      <span>
        <strong>
          {total} {total === 1 ? 'webhook is' : 'webhooks are'} suspended.
        </strong>{' '}
        Events for {total === 1 ? 'it are held until it is' : 'them are held until they are'} resumed:{' '}
        {cells.slice(0, MOST_SHOWN).map(({ networkId, event, suspended }, index) => (
          <span key={`${networkId} ${event}`}>
            {index === 0 ? '' : ', '}
            <Link to={addressOf(DASHBOARD_PATHS.webhooks, { networkId, event })}>
              {event} on {networkName(networkId)}
            </Link>
            {suspended === 1 ? '' : ` (${suspended})`}
          </span>
        ))}
        {cells.length > MOST_SHOWN ? `, and ${cells.length - MOST_SHOWN} more` : ''}.
      </span>
    </p>
  );
}
