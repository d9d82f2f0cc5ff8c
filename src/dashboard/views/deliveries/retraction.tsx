import { RETRACTION } from '../../../domain/event-kinds.ts';
import { Badge } from '../../components/values/badge.tsx';

/** Marks a delivery that retracts an earlier event. */
export function RetractionBadge({ event }: { event: string }) {
  return event === RETRACTION ? <Badge tone="bad" icon="undo" label="Retraction" /> : null;
}

/** Marks a delivery whose event was retracted. */
export function RetractedBadge() {
  return <Badge tone="bad" icon="undo" label="Retracted" />;
}

export type Retracts = { readonly eventId: string; readonly event: string | null; readonly reason: string | null };

/** The event that a retraction names; null if its body names none. */
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
