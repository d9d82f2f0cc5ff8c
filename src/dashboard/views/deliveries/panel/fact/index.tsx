import type { FactDetail } from '../../../../../client/chain/facts.ts';
import { networkName } from '../../../../../domain/networks.ts';
import { type ApiProblem, paybell } from '../../../../api.ts';
import { CopiedId, Facts } from '../../../../components/values/facts.tsx';
import { Failure, Loading, NotShown, ProblemAlert } from '../../../../components/view/states.tsx';
import { useLiveResponse } from '../../../../live.ts';
import { FactEvents } from './fact-events.tsx';
import { History } from './history.tsx';

/** Slower than the delivery: blocks take longer than attempts. */
const POLL_MS = 5_000;

type SectionProps = { factId: string; networkId: number; eventId: string };

/** The history of the fact that led to the event, and its events. */
export function FactSection({ factId, networkId, eventId }: SectionProps) {
  const { data, problem, reload } = useLiveResponse(
    factId,
    (signal) => paybell().facts.get(factId, { signal }),
    POLL_MS,
    (fact) => fact?.state !== 'final',
  );
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
  const { transactionHash, contract, factId, history, events } = fact;
  return (
    <>
      <Facts
        of={{
          Transaction: <CopiedId id={transactionHash} what="transaction" />,
          Contract: contract === null ? null : <CopiedId id={contract} what="contract" />,
          Fact: <CopiedId id={factId} what="fact" />,
        }}
      />
      <History steps={history} />
      <FactEvents events={events} current={eventId} />
    </>
  );
}
