import type { DeliveryDetail } from '../../../../client/types.ts';
import { paybell } from '../../../api.ts';
import { useTicks } from '../../../live.ts';
import { type Answer, useResponse } from '../../../use-response.ts';

const EVERY_MS = 2_000;

/** One delivery, kept up to date while live: unchanged, it costs the server a comparison and the line some headers. */
export function useDelivery(deliveryId: string, live: boolean): Answer<DeliveryDetail> {
  const answer = useResponse(deliveryId, (signal) => paybell().deliveries.get(deliveryId, { signal }));
  // What was opened before must not be seen under the new one's name.
  const data = answer.data?.deliveryId === deliveryId ? answer.data : null;
  useTicks(live && data !== null, EVERY_MS, async () => {
    await answer.again();
    return true;
  });
  return { ...answer, data };
}
