import type { DeliveryKind } from '../../../domain/attempt.ts';
import { Badge } from '../../components/values/badge.tsx';

/** Marks deliveries that are not events of the entity: test requests, and alerts of Paybell itself. */
export function KindBadge({ kind }: { kind: DeliveryKind }) {
  if (kind === 'event') return null;
  if (kind === 'test') return <Badge tone="info" icon="play" label="Test" />;
  return <Badge tone="info" icon="notification" label="Alert" />;
}
