import { RETRACTION } from '../../../domain/event-kinds.ts';
import { Badge } from '../../components/values/badge.tsx';

/** Marks a delivery that takes an earlier event back. */
export function RetractionBadge({ event }: { event: string }) {
  return event === RETRACTION ? <Badge tone="bad" icon="undo" label="Retraction" /> : null;
}

/** Marks a delivery whose event was taken back. */
export function RetractedBadge() {
  return <Badge tone="bad" icon="undo" label="Retracted" />;
}

export type Retracts = { readonly eventId: string; readonly event: string | null; readonly reason: string | null };

/** What a retraction takes back; null where its body does not say it. */
export function readRetracts(body: string): Retracts | null {
  try {
    const { retracts, reason } = JSON.parse(body) as {
      retracts?: { eventId?: unknown; event?: unknown };
      reason?: unknown;
    };
    if (typeof retracts?.eventId !== 'string') return null;
    return {
      eventId: retracts.eventId,
      event: typeof retracts.event === 'string' ? retracts.event : null,
      reason: typeof reason === 'string' ? reason : null,
    };
  } catch {
    return null;
  }
}
