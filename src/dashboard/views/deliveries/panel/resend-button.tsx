import { useEffect, useState } from 'preact/hooks';
import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { type ApiProblem, asProblem, paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { ProblemAlert } from '../../../components/view/states.tsx';

const POLL_MS = 500;
const MAX_POLLS = 30;

/** Reports "Sending…" until the new attempt is in the log, whatever its outcome. */
export function ResendButton({ delivery, reload }: { delivery: DeliveryDetail; reload: () => Promise<void> }) {
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [attemptsBefore, setAttemptsBefore] = useState<number | null>(null);
  const attempts = delivery.attemptLog.length;
  const retracted = delivery.retractedBy !== null;
  const waiting = attemptsBefore !== null && attempts <= attemptsBefore;

  useEffect(() => {
    if (!waiting) return;
    let polls = 0;
    const timer = setInterval(() => {
      polls += 1;
      if (polls > MAX_POLLS) setAttemptsBefore(null);
      else void reload();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [waiting, reload]);

  const resend = async () => {
    setProblem(null);
    setAttemptsBefore(attempts);
    try {
      await paybell().deliveries.redeliver(delivery.deliveryId);
    } catch (error) {
      setAttemptsBefore(null);
      setProblem(asProblem(error));
    }
  };
  return (
    <>
      {problem === null ? null : <ProblemAlert problem={problem} />}
      <div class="resend">
        <ActionButton needs="deliveries:write" disabled={waiting || retracted} onClick={() => void resend()}>
          <Icon name="deliveries" size={14} />
          {waiting ? 'Sending…' : 'Resend'}
        </ActionButton>
        {retracted ? <span class="small muted">A retracted event is not sent again.</span> : null}
        <span class="visually-hidden" role="status">
          {attemptsBefore !== null && !waiting ? 'Delivery resent' : ''}
        </span>
      </div>
    </>
  );
}
