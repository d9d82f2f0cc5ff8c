import { EVENT_KINDS } from '../../../domain/event-kinds.ts';
import { networkName } from '../../../domain/networks.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';

export type CellKind = 'empty' | 'covered' | 'several' | 'suspended';

type CellCounts = { webhooks: number; suspended: number };

/** The kinds differ in icon and border as well as in colour. */
export const CELL_KINDS: Readonly<Record<CellKind, { label: string; icon: IconName }>> = {
  covered: { label: 'One webhook', icon: 'check' },
  several: { label: 'Several webhooks', icon: 'double' },
  suspended: { label: 'Suspended', icon: 'pause' },
  empty: { label: 'No webhook', icon: 'plus' },
};

export function kindOf({ webhooks, suspended }: CellCounts): CellKind {
  if (webhooks === 0) return 'empty';
  if (suspended > 0) return 'suspended';
  return webhooks === 1 ? 'covered' : 'several';
}

type CellProps = CellCounts & { networkId: number; event: string; onRegister: () => void };

/** An empty cell is a button that registers a webhook; any other cell links to its webhooks. */
export function Cell({ networkId, event, webhooks, suspended, onRegister }: CellProps) {
  const kind = kindOf({ webhooks, suspended });
  const where = `${event} on ${networkName(networkId)}`;
  const icon = <Icon name={CELL_KINDS[kind].icon} size={14} />;
  if (kind === 'empty') {
    return (
      <ActionButton
        needs="webhooks:write"
        class="cell cell-empty"
        label={`Register a webhook for ${where}`}
        onClick={onRegister}
      >
        {icon}
      </ActionButton>
    );
  }
  // The list can filter only by the built-in event kinds. For an extra event, it shows the whole network.
  const filter = (EVENT_KINDS as readonly string[]).includes(event) ? { networkId, event } : { networkId };
  const shown = suspended === 0 ? String(webhooks) : `${suspended}/${webhooks}`;
  const label = `${where}: ${shown} ${suspended > 0 ? 'suspended' : webhooks === 1 ? 'webhook' : 'webhooks'}`;
  return (
    <Link to={urlFor(DASHBOARD_PATHS.webhooks, filter)} class={`cell cell-${kind}`} aria-label={label} title={label}>
      {icon}
      <span class="number">{shown}</span>
    </Link>
  );
}
