import { useState } from 'preact/hooks';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { onDemand } from '../../components/on-demand.tsx';
import { useResponse } from '../../use-response.ts';

const AddSourceDialog = onDemand('form', async () => (await import('./add-dialog.tsx')).AddSourceDialog);

type AddProps = { networkId?: number; isPrimary?: boolean; onAdded: () => void };

/** Opens the set-up of a source. It needs a network that the server follows. */
export function AddSource({ networkId, isPrimary = false, onAdded }: AddProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { data } = useResponse('chains', (signal) => paybell().chains.list({ signal }));
  const chains = (data?.chains ?? []).filter((chain) => networkId === undefined || chain.networkId === networkId);
  return (
    <>
      <ActionButton
        needs="webhooks:write"
        class={isPrimary ? 'button button-primary' : 'button'}
        disabled={chains.length === 0}
        {...(data !== null && chains.length === 0 && { title: 'The server follows no network: CHAIN_RPC names none' })}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="plus" size={14} />
        Add addresses
      </ActionButton>
      {data !== null && data.chains.length === 0 ? (
        <p class="muted small">
          This server follows no network. The operator names nodes in the setting <code>CHAIN_RPC</code>, or sets it to{' '}
          <code>practice</code> to try payments without a node.
        </p>
      ) : null}
      {isOpen ? <AddSourceDialog chains={chains} onAdded={onAdded} onClose={() => setIsOpen(false)} /> : null}
    </>
  );
}
