import type { Chain } from '../../../client/chain/chains.ts';
import { isPractice, PRACTICE } from '../../../domain/chain/practice.ts';
import { networkName } from '../../../domain/networks.ts';
import { paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { countText } from '../../components/values/count-text.ts';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Loaded } from '../../components/view/loaded.tsx';
import { Section } from '../../components/view/section.tsx';
import { Empty } from '../../components/view/states.tsx';
import { BackLink, ViewHead } from '../../components/view/view-head.tsx';
import { useLiveResponse } from '../../live.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { ageText, CHAIN_STATES } from '../overview/network-words.ts';
import { Halted } from '../overview/networks.tsx';
import { NodeTable } from './nodes.tsx';
import { NetworkSources } from './sources.tsx';

const POLL_MS = 5_000;

/** One network: how far Paybell has read it, its nodes side by side, and the sources that read from it. */
export function NetworkView({ networkId }: { networkId: number }) {
  const response = useLiveResponse('chains', (signal) => paybell().chains.list({ signal }), POLL_MS);
  return (
    <>
      <BackLink to={DASHBOARD_PATHS.networks} text="All networks" />
      <ViewHead
        title={networkName(networkId)}
        description={`Network ${networkId}: its nodes, and how far Paybell has read it.`}
      >
        <LiveSwitch />
        <Link to={urlFor(DASHBOARD_PATHS.payments, { networkId })} class="button">
          <Icon name="payments" size={14} />
          Its payments
        </Link>
      </ViewHead>
      <Loaded response={response} what="network">
        {({ chains }) => {
          const chain = chains.find((each) => each.networkId === networkId);
          return chain === undefined ? <NotFollowed networkId={networkId} /> : <Followed chain={chain} />;
        }}
      </Loaded>
    </>
  );
}

function NotFollowed({ networkId }: { networkId: number }) {
  return (
    <Empty icon="search" title={`Paybell does not follow ${networkName(networkId)}`}>
      <p>
        The operator adds a network with the setting{' '}
        <code>CHAIN_RPC={isPractice(networkId) ? PRACTICE : `${networkId}=https://…`}</code>.
      </p>
    </Empty>
  );
}

function Followed({ chain }: { chain: Chain }) {
  const { networkId, state, reason, nodes } = chain;
  return (
    <div class="stack">
      <div class="network-state">
        <Badge {...CHAIN_STATES[state]} />
        {state === 'halted' || reason === null ? null : <p>{reason}</p>}
      </div>
      {state === 'halted' ? <Halted networkId={networkId} reason={reason} /> : null}
      <Figures chain={chain} />
      <Section title="Nodes">
        {nodes.length === 0 ? <p class="muted small">No poll has ended yet.</p> : <NodeTable nodes={nodes} />}
      </Section>
      <NetworkSources networkId={networkId} />
    </div>
  );
}

function Figures({ chain }: { chain: Chain }) {
  const { head, headAgeSeconds, final, finalAgeSeconds, usualFinalSeconds, lagBlocks, witnesses } = chain;
  const figures = [
    ['Head', countText(head), ageText(headAgeSeconds)],
    ['Final', countText(final), ageText(finalAgeSeconds)],
    ['Not read yet', countText(lagBlocks), 'blocks'],
    ['Usually final after', ageText(usualFinalSeconds), ''],
    [
      'Witnesses',
      witnesses === null ? '–' : `${witnesses.present} of ${witnesses.needed}`,
      'nodes that decide finality',
    ],
  ] as const;
  return (
    <dl class="network-figures">
      {figures.map(([name, value, note]) => (
        <div key={name} class="card">
          <dt>{name}</dt>
          <dd class="number">{value}</dd>
          <dd class="small muted">{note}</dd>
        </div>
      ))}
    </dl>
  );
}
