import { useState } from 'preact/hooks';
import { factIdOfPayment } from '../../../../domain/chain/payments.ts';
import { paybell } from '../../../api.ts';
import { JsonText } from '../../../components/values/json-text.tsx';
import { Failure, Loading, NotShown } from '../../../components/view/states.tsx';
import { useResponse } from '../../../use-response.ts';

/** The record of the log, which is collapsed. It is loaded when someone opens it. */
export function RawLog({ paymentId }: { paymentId: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Raw record</summary>
      {isOpen ? <Record paymentId={paymentId} /> : null}
    </details>
  );
}

function Record({ paymentId }: { paymentId: string }) {
  const factId = factIdOfPayment(paymentId) ?? paymentId;
  const { data, problem, reload } = useResponse(factId, async (signal) => {
    const { history: _, events: __, ...record } = await paybell().facts.get(factId, { signal });
    return JSON.stringify(record);
  });
  if (data !== null) return <JsonText text={data} title="Record" />;
  if (problem === null) return <Loading what="record" />;
  if (problem.permission !== null) return <NotShown what="Its fields" permission={problem.permission} />;
  return <Failure problem={problem} reload={reload} />;
}
