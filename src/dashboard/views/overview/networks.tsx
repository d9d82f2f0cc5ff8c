import { useRef } from 'preact/hooks';
import type { Chain, ChainList, ChainNode } from '../../../client/chain/chains.ts';
import type { ApiProblem } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { CodeBlock } from '../../components/values/copy.tsx';
import { countOf, countText } from '../../components/values/count-text.ts';
import { durationText } from '../../components/values/duration-text.ts';
import { Network } from '../../components/values/network.tsx';
import { Time } from '../../components/values/time.tsx';
import { PartProblem } from '../../components/view/loaded.tsx';
import { Section } from '../../components/view/section.tsx';
import { networkPath } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { CHAIN_STATES, NODE_ERRORS, NODE_STATES } from './network-words.ts';
import { useScrollToTarget } from './use-scroll-to-target.ts';

type NetworksProps = { list: ChainList | null; problem: ApiProblem | null; title?: string };

/** A strip for each network that the server follows. Shows nothing if the server follows no network. */
export function Networks({ list, problem, title = 'Networks' }: NetworksProps) {
  const chains = list?.chains ?? [];
  if (chains.length === 0 && problem === null) return null;
  return (
    <Section title={title} class="networks">
      <PartProblem problem={problem} what="The networks that the server follows" />
      {chains.length === 0 ? null : (
        <ul class="card network-strips">
          {chains.map((chain) => (
            <Strip key={chain.networkId} chain={chain} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Strip({ chain }: { chain: Chain }) {
  const { networkId, state, reason, head, safe, final, lagBlocks, headAgeSeconds, nodes } = chain;
  const unhealthy = nodes.filter((node) => node.state !== 'ok');
  const id = `network-${networkId}`;
  const strip = useRef<HTMLLIElement>(null);
  useScrollToTarget(strip, id);
  return (
    <li class={`network-strip network-${state}`} id={id} ref={strip}>
      <h3>
        <Link to={networkPath(networkId)}>
          <Network networkId={networkId} />
        </Link>
      </h3>
      <Badge {...CHAIN_STATES[state]} />
      <dl>
        <Figure name="Head" title="The newest block" value={countText(head)} />
        <Figure name="Safe" title="The newest block that the network calls safe" value={countText(safe)} />
        <Figure name="Final" title="The newest block that cannot be undone" value={countText(final)} />
        <Figure name="Lag" title="Blocks that are not read yet" value={blocksText(lagBlocks)} />
        <Figure name="Newest block" title="Age of the newest block" value={agoText(headAgeSeconds)} />
      </dl>
      {state === 'halted' ? <Halted networkId={networkId} reason={reason} /> : null}
      {/* If blocks are unread, the lag already shows that. */}
      {state !== 'halted' && reason !== null && !lagBlocks ? <p class="network-note small">{reason}</p> : null}
      {unhealthy.length === 0 ? null : <UnhealthyNodes nodes={unhealthy} total={nodes.length} />}
    </li>
  );
}

function Figure({ name, title, value }: { name: string; title: string; value: string }) {
  return (
    <div>
      <dt title={title}>{name}</dt>
      <dd class="number">{value}</dd>
    </div>
  );
}

function blocksText(blocks: number | null): string {
  return blocks === null ? '–' : countOf(blocks, 'block');
}

function agoText(seconds: number | null): string {
  if (seconds === null) return 'never';
  return seconds === 0 ? 'just now' : `${durationText(seconds * 1000)} ago`;
}

/** Shows the command that resumes a halted network, which only the operator can run. */
export function Halted({ networkId, reason }: { networkId: number; reason: string | null }) {
  return (
    <div class="alert alert-bad network-note" role="alert">
      <Icon name="alert" />
      <div>
        <p>
          {reason === null ? null : <strong>{reason}</strong>} Paybell delivers no payments of this network until the
          operator has checked which blocks are right and resumes it, from the first block that has to be read again:
        </p>
        <CodeBlock text={`paybell chain resume --network ${networkId} --from <block>`} label="Copy command" />
      </div>
    </div>
  );
}

function UnhealthyNodes({ nodes, total }: { nodes: readonly ChainNode[]; total: number }) {
  return (
    <ul class="network-note network-nodes small" aria-label={`Unhealthy nodes, ${nodes.length} of ${total}`}>
      {nodes.map(({ name, state, lastError, dateLastOk }) => (
        <li key={name}>
          <Icon name="alert" size={12} />
          <span>
            Node <code>{name}</code> is {NODE_STATES[state].words}
            {state === 'failing' && lastError !== null ? `: ${NODE_ERRORS[lastError] ?? lastError}` : null}
            {state === 'failing' && dateLastOk !== null ? (
              <span class="muted">
                {' '}
                · last successful response <Time seconds={dateLastOk} />
              </span>
            ) : null}
          </span>
        </li>
      ))}
    </ul>
  );
}
