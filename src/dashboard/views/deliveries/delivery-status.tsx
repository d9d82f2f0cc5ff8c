import type { DeliveryStatus } from '../../../domain/attempt.ts';
import type { IconName } from '../../components/icon.tsx';
import { Badge, type Tone } from '../../components/values/badge.tsx';

type Look = { readonly label: string; readonly tone: Tone; readonly icon: IconName; readonly about: string };

export const STATUS_LOOKS: Readonly<Record<DeliveryStatus, Look>> = {
  delivered: { label: 'Delivered', tone: 'good', icon: 'check', about: 'The receiver took it.' },
  pending: { label: 'Pending', tone: 'info', icon: 'clock', about: 'Its first attempt is about to be made.' },
  retrying: { label: 'Retrying', tone: 'warning', icon: 'retry', about: 'An attempt failed; it is tried again.' },
  failed: { label: 'Failed', tone: 'bad', icon: 'cross', about: 'Every attempt failed; it was given up.' },
  held: { label: 'Held', tone: 'neutral', icon: 'pause', about: 'Its webhook is suspended; it waits for a resume.' },
  cancelled: {
    label: 'Cancelled',
    tone: 'neutral',
    icon: 'minus',
    about: 'Its webhook was deleted before it was sent.',
  },
};

export function StatusBadge({ status }: { status: DeliveryStatus }) {
  const { label, tone, icon } = STATUS_LOOKS[status];
  return (
    <Badge tone={tone} icon={icon}>
      {label}
    </Badge>
  );
}
