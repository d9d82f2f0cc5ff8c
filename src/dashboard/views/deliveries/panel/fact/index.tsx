import type { FactDetail } from '../../../../../client/chain/facts.ts';
import { networkName } from '../../../../../domain/networks.ts';
import type { ApiProblem } from '../../../../api.ts';
import { CopyButton } from '../../../../components/values/copy.tsx';
import { Failure, Loading, NotShown, ProblemAlert } from '../../../../components/view/states.tsx';
import { FactEvents } from './fact-events.tsx';
import { History } from './history.tsx';
import { useFact } from './use-fact.ts';

type SectionProps = { factId: string; networkId: number; eventId: string; live: boolean };

/** What the network said that led to the event, and all that became of it. */
export function FactSection({ factId, networkId, eventId, live }: SectionProps) {
  const { data, problem, reload } = useFact(factId, live);
  return (
    <section class="fact">
      <h3>History on {networkName(networkId)}</h3>
      {data !== null && problem !== null ? <ProblemAlert problem={problem} /> : null}
      {data !== null ? (
        <Fact fact={data} eventId={eventId} />
      ) : problem !== null ? (
        <Unavailable problem={problem} reload={reload} />
      ) : (
        <Loading what="history" />
      )}
    </section>
  );
}

function Unavailable({ problem, reload }: { problem: ApiProblem; reload: () => Promise<void> }) {
  if (problem.permission !== null) return <NotShown what="Its blocks and events" permission={problem.permission} />;
  if (problem.code === 'not_found') {
    return <p class="small muted">It is older than the retention period and was removed.</p>;
  }
  return <Failure problem={problem} reload={reload} />;
}

function Fact({ fact, eventId }: { fact: FactDetail; eventId: string }) {
  return (
    <>
      <dl class="facts">
        <Hash name="Transaction" value={fact.transactionHash} />
        {fact.contract === null ? null : <Hash name="Contract" value={fact.contract} />}
        <Hash name="Fact" value={fact.factId} />
      </dl>
      <History steps={fact.history} />
      <FactEvents events={fact.events} current={eventId} />
    </>
  );
}

function Hash({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd class="id">
        <span class="cut" title={value}>
          <code>{value}</code>
        </span>
        <CopyButton text={value} label={`Copy ${name.toLowerCase()}`} compact />
      </dd>
    </>
  );
}
