import type { Chain } from '../../../../client/chain/chains.ts';
import type { SourceList } from '../../../../client/chain/sources.ts';
import { networkName } from '../../../../domain/networks.ts';
import { Icon } from '../../../components/icon.tsx';
import { CopyButton } from '../../../components/values/copy.tsx';
import { AttentionItem } from './item.tsx';

export function NetworkItems({ halted }: { halted: readonly Chain[] }) {
  return (
    <>
      {halted.map(({ networkId, reason }) => (
        <AttentionItem
          key={networkId}
          tone="bad"
          icon="pause"
          action={{ label: 'Show what to do', to: `#network-${networkId}` }}
        >
          <strong>{networkName(networkId)}</strong> is halted. Paybell delivers no payments from it
          {reason === null ? '.' : `: ${reason}`}
        </AttentionItem>
      ))}
    </>
  );
}

/** The dashboard has no view of sources, so the action copies the command that shows one. */
export function SourceItems({ paused }: { paused: SourceList }) {
  return (
    <>
      {paused.sources.map(({ sourceId, networkId, pausedReason }) => (
        <li key={sourceId} class="attention-item attention-warning">
          <Icon name="pause" />
          <p>
            The source <code>{sourceId}</code> on {networkName(networkId)} is paused. Paybell does not read its contract
            {pausedReason === null ? '.' : `: ${pausedReason}`}
          </p>
          <CopyButton text={`paybell sources show ${sourceId}`} label="Copy command" />
        </li>
      ))}
    </>
  );
}
