import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from '../icon.tsx';

export type Tone = 'neutral' | 'info' | 'good' | 'warning' | 'bad';

/** How a state is shown. */
export type Display = { readonly label: string; readonly tone: Tone; readonly icon: IconName };

type BadgeProps = { tone: Tone; icon: IconName; label?: string; children?: ComponentChildren };

/** A state as icon and word, so that it never depends on colour alone. */
export function Badge({ tone, icon, label, children }: BadgeProps) {
  return (
    <span class={`badge badge-${tone}`}>
      <Icon name={icon} size={12} />
      {label}
      {children}
    </span>
  );
}
