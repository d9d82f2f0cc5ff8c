import type { Redelivery } from '../../../../client/deliveries.ts';
import { paybell } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { ProblemAlert } from '../../../components/view/states.tsx';
import { usePolling } from '../../../live.ts';
import { changeQuery } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';

const number = new Intl.NumberFormat();
const POLL_MS = 1_000;

/** The progress of a bulk resend. Its ID is in the URL, so that it survives a reload and can be shared. */
export function BulkResendProgress({ redeliveryId }: { redeliveryId: string }) {
  const { data, problem, reload } = useResponse(redeliveryId, (signal) =>
    paybell().deliveries.redelivery(redeliveryId, { signal }),
  );
  const finished = data !== null && data.status === 'finished' && data.sent >= data.queued;
  usePolling(data !== null && !finished, POLL_MS, async () => {
    await reload();
    return true;
  });
  if (data === null) return problem === null ? null : <ProblemAlert problem={problem} />;
  return (
    <section class="card progress" aria-label="Bulk resend">
      <div class="progress-head">
        <strong role="status">{finished ? 'Bulk resend finished' : 'Resending…'}</strong>
        <button
          type="button"
          class="button button-icon"
          aria-label="Dismiss"
          onClick={() => changeQuery({ redelivery: null })}
        >
          <Icon name="cross" size={14} />
        </button>
      </div>
      <progress max={Math.max(1, data.totalResults - data.skipped)} value={data.sent} aria-label="Resent" />
      <Counts redelivery={data} />
    </section>
  );
}

function Counts({ redelivery: { totalResults, sent, delivered, skipped } }: { redelivery: Redelivery }) {
  return (
    <p class="small number">
      <strong>{number.format(sent)}</strong> of {number.format(totalResults)} resent ·{' '}
      <strong>{number.format(delivered)}</strong> delivered
      {skipped === 0 ? null : (
        <span class="muted">
          {' '}
          · {number.format(skipped)} skipped (webhook deleted or suspended, or event retracted)
        </span>
      )}
    </p>
  );
}
