import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { paybell } from '../../../api.ts';
import { usePolling } from '../../../live.ts';
import { type ResponseState, useResponse } from '../../../use-response.ts';

const POLL_MS = 2_000;

/** One delivery, polled while live. The browser revalidates by ETag, so an unchanged delivery is a 304 without a body. */
export function useDelivery(deliveryId: string, live: boolean): ResponseState<DeliveryDetail> {
  const response = useResponse(deliveryId, (signal) => paybell().deliveries.get(deliveryId, { signal }));
  // While the next delivery loads, the previous one must not be shown as if it were it.
  const data = response.data?.deliveryId === deliveryId ? response.data : null;
  usePolling(live && data !== null, POLL_MS, async () => {
    await response.reload();
    return true;
  });
  return { ...response, data };
}
