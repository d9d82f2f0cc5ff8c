import { type ReceivedHeaders, readSequenceHeaders } from './headers.ts';
import { importKeys } from './keys.ts';
import { requireMatch } from './signatures.ts';

/** The sequence number of a request. The deliveries to one endpoint count 1, 2, 3 … without a gap. */
export type ReceivedSequence = {
  readonly endpointId: string;
  readonly sequence: number;
  /** The `webhook-id` that the number belongs to. */
  readonly deliveryId: string;
};

/**
 * Returns the number of a request, or throws a VerificationError unless it was signed with one of the `whsec_` secrets.
 * Null for a request that has none: a test request, or an alert. It does not cover the body, which `verify` checks.
 */
export async function checkSequence(
  headers: ReceivedHeaders,
  keys: string | readonly string[],
): Promise<ReceivedSequence | null> {
  const imported = await importKeys(keys);
  const received = readSequenceHeaders(headers);
  if (received === null) return null;
  const { id, endpointId, sequence, signatures } = received;
  await requireMatch(signatures, new TextEncoder().encode(`${id}.${endpointId}.${sequence}`), imported);
  return { endpointId, sequence: Number(sequence), deliveryId: id };
}
