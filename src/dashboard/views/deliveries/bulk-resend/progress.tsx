import type { Redelivery } from '../../../../client/deliveries.ts';
import { paybell } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { countText } from '../../../components/values/count-text.ts';
import { ProblemAlert } from '../../../components/view/states.tsx';
import { usePolling } from '../../../live.ts';
import { changeQuery } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';

const POLL_MS = 1_000;
/** Used once all deliveries were sent, while failed ones are retried by their schedule. */
const RETRIES_POLL_MS = 10_000;

/** The progress of a bulk resend. Its ID is in the URL, so that it survives a reload and can be shared. */
export function BulkResendProgress({ redeliveryId }: { redeliveryId: string }) {
  const { data, problem, reload } = useResponse(redeliveryId, (signal) =>
    paybell().deliveries.redelivery(redeliveryId, { signal }),
  );
  const finished = data !== null && data.status === 'finished' && data.sent >= data.queued;
  const waiting = data?.waiting ?? 0;
  usePolling(data !== null && (!finished || waiting > 0), finished ? RETRIES_POLL_MS : POLL_MS, async () => {
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

/** The results in one sentence, which people can pass on. */
function Counts({ redelivery }: { redelivery: Redelivery }) {
  const { totalResults, sent, delivered, failed, waiting, skipped } = redelivery;
  return (
    <p class="small number">
      <strong>
        {countText(sent)} of {countText(totalResults)} sent
      </strong>
      , {countText(delivered)} delivered,{' '}
      <span class={failed === 0 ? '' : 'error-text'}>{countText(failed)} failed</span>
      {waiting === 0 ? null : `, ${countText(waiting)} waiting for an attempt`}
      {skipped === 0 ? null : (
        <span class="muted">, {countText(skipped)} skipped (webhook deleted or suspended, or event retracted)</span>
      )}
    </p>
  );
}
