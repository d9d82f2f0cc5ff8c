import type { DeliveryKind } from '../../../domain/attempt.ts';
import { Badge } from '../../components/values/badge.tsx';

/** Marks what is not an event of the entity: test requests, and alerts of Paybell itself. */
export function KindBadge({ kind }: { kind: DeliveryKind }) {
  if (kind === 'event') return null;
  return kind === 'test' ? (
    <Badge tone="info" icon="play">
      Test
    </Badge>
  ) : (
    <Badge tone="info" icon="notification">
      Alert
    </Badge>
  );
}
