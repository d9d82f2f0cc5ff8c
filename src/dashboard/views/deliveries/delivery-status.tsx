import type { DeliveryStatus } from '../../../domain/attempt.ts';
import type { IconName } from '../../components/icon.tsx';
import { Badge, type Tone } from '../../components/values/badge.tsx';

type Display = { readonly label: string; readonly tone: Tone; readonly icon: IconName; readonly description: string };

export const STATUS_DISPLAY: Readonly<Record<DeliveryStatus, Display>> = {
  delivered: {
    label: 'Delivered',
    tone: 'good',
    icon: 'check',
    description: 'The endpoint responded with a 2xx status.',
  },
  pending: { label: 'Pending', tone: 'info', icon: 'clock', description: 'Waiting for its first attempt.' },
  retrying: {
    label: 'Retrying',
    tone: 'warning',
    icon: 'retry',
    description: 'An attempt failed. Another one is scheduled.',
  },
  failed: {
    label: 'Failed',
    tone: 'bad',
    icon: 'cross',
    description: 'Failed permanently. No more attempts are scheduled.',
  },
  held: {
    label: 'Held',
    tone: 'neutral',
    icon: 'pause',
    description: 'Its webhook is suspended or its endpoint paused. It is sent when you resume that.',
  },
  cancelled: {
    label: 'Cancelled',
    tone: 'neutral',
    icon: 'minus',
    description: 'Its webhook was deleted before it was sent.',
  },
  superseded: {
    label: 'Superseded',
    tone: 'neutral',
    icon: 'minus',
    description: 'A later event made it unnecessary before it was sent.',
  },
};

export function StatusBadge({ status }: { status: DeliveryStatus }) {
  const { label, tone, icon } = STATUS_DISPLAY[status];
  return (
    <Badge tone={tone} icon={icon}>
      {label}
    </Badge>
  );
}
