import type { DeliveryStatus } from '../../../domain/attempt.ts';
import { Badge, type Display } from '../../components/values/badge.tsx';

export const STATUS_DISPLAY: Readonly<Record<DeliveryStatus, Display & { readonly description: string }>> = {
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
    description: 'On hold: the webhook is suspended or the endpoint is paused. Resume it to send this delivery.',
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
    description: 'A later event superseded it before it was sent.',
  },
};

export function StatusBadge({ status }: { status: DeliveryStatus }) {
  const { label, tone, icon } = STATUS_DISPLAY[status];
  return <Badge {...{ label, tone, icon }} />;
}
