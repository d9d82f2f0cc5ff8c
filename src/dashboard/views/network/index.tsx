import type { Chain } from '../../../client/chain/chains.ts';
import { networkName } from '../../../domain/networks.ts';
import { isPermanent, paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Empty, Failure, Loading, ProblemAlert } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { ageText, CHAIN_STATES } from '../overview/network-words.ts';
import { Halted } from '../overview/networks.tsx';
import { NodeTable } from './nodes.tsx';
import { NetworkSources } from './sources.tsx';

const POLL_MS = 5_000;
const number = new Intl.NumberFormat();

/** One network: how far Paybell has read it, its nodes side by side, and the sources that read from it. */
export function NetworkView({ networkId }: { networkId: number }) {
  const { data, problem, reload } = useResponse('chains', (signal) => paybell().chains.list({ signal }));
  const on = useObservable(live);
  usePolling(on && !isPermanent(problem), POLL_MS, async () => {
    await reload();
    return true;
  });
  const chain = data?.chains.find((each) => each.networkId === networkId) ?? null;
  const name = networkName(networkId);
  return (
    <>
      <p class="back small">
        <Link to={DASHBOARD_PATHS.overview}>
          <Icon name="left" size={12} /> Overview
        </Link>
      </p>
      <ViewHead title={name} description={`Network ${networkId}: its nodes, and how far Paybell has read it.`}>
        <LiveSwitch />
        <Link to={urlFor(DASHBOARD_PATHS.payments, { networkId })} class="button">
          <Icon name="payments" size={14} />
          Its payments
        </Link>
      </ViewHead>
      {data === null && problem !== null ? <Failure problem={problem} reload={reload} /> : null}
      {data === null && problem === null ? <Loading what="network" /> : null}
      {data !== null && problem !== null ? <ProblemAlert problem={problem} /> : null}
      {data === null ? null : chain === null ? <NotFollowed networkId={networkId} /> : <Followed chain={chain} />}
    </>
  );
}

function NotFollowed({ networkId }: { networkId: number }) {
  return (
    <Empty icon="search" title={`Paybell does not follow ${networkName(networkId)}`}>
      <p>
        The operator adds a network with the setting <code>CHAIN_RPC={networkId}=https://…</code>, which names its
        nodes.
      </p>
    </Empty>
  );
}

function Followed({ chain }: { chain: Chain }) {
  const { networkId, state, reason, nodes } = chain;
  const { label, tone, icon } = CHAIN_STATES[state];
  return (
    <div class="stack">
      <div class="network-state">
        <Badge tone={tone} icon={icon}>
          {label}
        </Badge>
        {state === 'halted' || reason === null ? null : <p>{reason}</p>}
      </div>
      {state === 'halted' ? <Halted networkId={networkId} reason={reason} /> : null}
      <Figures chain={chain} />
      <section class="endpoint-section" aria-labelledby="nodes-heading">
        <h2 id="nodes-heading">Nodes</h2>
        {nodes.length === 0 ? <p class="muted small">No poll has ended yet.</p> : <NodeTable nodes={nodes} />}
      </section>
      <NetworkSources networkId={networkId} />
    </div>
  );
}

function Figures({ chain }: { chain: Chain }) {
  const { head, headAgeSeconds, final, finalAgeSeconds, usualFinalSeconds, lagBlocks, witnesses } = chain;
  const figures = [
    ['Head', blockText(head), ageText(headAgeSeconds)],
    ['Final', blockText(final), ageText(finalAgeSeconds)],
    ['Not read yet', lagBlocks === null ? '–' : number.format(lagBlocks), 'blocks'],
    ['Usually final after', usualFinalSeconds === null ? '–' : ageText(usualFinalSeconds), ''],
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

function blockText(block: number | null): string {
  return block === null ? '–' : number.format(block);
}
