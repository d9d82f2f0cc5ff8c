import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from '../icon.tsx';

export type Tone = 'neutral' | 'info' | 'good' | 'warning' | 'bad';

/** A state as icon and word, so that it never depends on colour alone. */
export function Badge({ tone, icon, children }: { tone: Tone; icon: IconName; children: ComponentChildren }) {
  return (
    <span class={`badge badge-${tone}`}>
      <Icon name={icon} size={12} />
      {children}
    </span>
  );
}
