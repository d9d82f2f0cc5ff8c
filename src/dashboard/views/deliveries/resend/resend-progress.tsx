import type { Redelivery } from '../../../../client/types.ts';
import { paybell } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { Notice } from '../../../components/lists/states.tsx';
import { useTicks } from '../../../live.ts';
import { changeQuery } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';

const number = new Intl.NumberFormat();
const EVERY_MS = 1_000;

/** How far a bulk redelivery has come. It stands in the address, so that a reload or a colleague sees it too. */
export function ResendProgress({ redeliveryId }: { redeliveryId: string }) {
  const { data, problem, again } = useResponse(redeliveryId, (signal) =>
    paybell().deliveries.redelivery(redeliveryId, { signal }),
  );
  const ended = data !== null && data.status === 'finished' && data.sent >= data.queued;
  useTicks(data !== null && !ended, EVERY_MS, async () => {
    await again();
    return true;
  });
  if (data === null) return problem === null ? null : <Notice problem={problem} />;
  return (
    <section class="card progress" aria-label="Bulk redelivery">
      <div class="progress-head">
        <strong role="status">{ended ? 'All were sent again' : 'Sending again…'}</strong>
        <button
          type="button"
          class="button button-icon"
          aria-label="Put the progress away"
          onClick={() => changeQuery({ redelivery: null })}
        >
          <Icon name="cross" size={14} />
        </button>
      </div>
      <progress max={Math.max(1, data.totalResults - data.skipped)} value={data.sent} aria-label="Sent again" />
      <Counts redelivery={data} />
    </section>
  );
}

function Counts({ redelivery: { totalResults, sent, delivered, skipped } }: { redelivery: Redelivery }) {
  return (
    <p class="small number">
      <strong>{number.format(sent)}</strong> of {number.format(totalResults)} sent ·{' '}
      <strong>{number.format(delivered)}</strong> delivered
      {skipped === 0 ? null : (
        <span class="muted"> · {number.format(skipped)} skipped: their webhook is deleted or suspended</span>
      )}
    </p>
  );
}
