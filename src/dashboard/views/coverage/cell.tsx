import { EVENT_KINDS } from '../../../domain/event-kinds.ts';
import { networkName } from '../../../domain/networks.ts';
import { Icon, type IconName } from '../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { addressOf, Link } from '../../router.tsx';

export type CellKind = 'empty' | 'covered' | 'doubled' | 'suspended';

type CellCounts = { webhooks: number; suspended: number };

/** Told apart by icon and border as well as by colour. */
export const CELL_KINDS: Readonly<Record<CellKind, { label: string; icon: IconName }>> = {
  covered: { label: 'One webhook', icon: 'check' },
  doubled: { label: 'Several', icon: 'double' },
  suspended: { label: 'Suspended', icon: 'pause' },
  empty: { label: 'Nobody', icon: 'plus' },
};

export function kindOf({ webhooks, suspended }: CellCounts): CellKind {
  if (webhooks === 0) return 'empty';
  if (suspended > 0) return 'suspended';
  return webhooks === 1 ? 'covered' : 'doubled';
}

type CellProps = CellCounts & { networkId: number; event: string; onRegister: () => void };

/** A gap is a button that fills it; anything else leads to the webhooks that it stands for. */
export function Cell({ networkId, event, webhooks, suspended, onRegister }: CellProps) {
  const kind = kindOf({ webhooks, suspended });
  const where = `${event} on ${networkName(networkId)}`;
  const icon = <Icon name={CELL_KINDS[kind].icon} size={14} />;
  if (kind === 'empty') {
    return (
      <button
        type="button"
        class="cell cell-empty"
        aria-label={`Nobody is told of ${where}: register`}
        onClick={onRegister}
      >
        {icon}
      </button>
    );
  }
  // The list filters by the kinds of the contract only; for another the whole network is shown.
  const filter = (EVENT_KINDS as readonly string[]).includes(event) ? { networkId, event } : { networkId };
  const shown = suspended === 0 ? String(webhooks) : `${suspended}/${webhooks}`;
  const about = `${where}: ${shown} ${suspended > 0 ? 'suspended' : webhooks === 1 ? 'webhook' : 'webhooks'}`;
  return (
    <Link to={addressOf(DASHBOARD_PATHS.webhooks, filter)} class={`cell cell-${kind}`} aria-label={about} title={about}>
      {icon}
      <span class="number">{shown}</span>
    </Link>
  );
}
