import type { ReceivedRequest } from '../../test/support/ledger.ts';

/** Only a delivery with an earlier request that was never recorded may be sent again. */
export function repeatedWithoutCause(
  requests: readonly ReceivedRequest[],
  wasNotRecorded: (request: ReceivedRequest, index: number) => boolean,
): string[] {
  const unrecorded = new Set<string>();
  const seen = new Set<string>();
  let repeated = 0;
  for (const [index, request] of requests.entries()) {
    const { deliveryId } = request;
    if (seen.has(deliveryId) && !unrecorded.has(deliveryId)) repeated++;
    seen.add(deliveryId);
    if (wasNotRecorded(request, index)) unrecorded.add(deliveryId);
  }
  return repeated === 0 ? [] : [`${repeated} deliveries were sent again although they were recorded or claimed once`];
}
