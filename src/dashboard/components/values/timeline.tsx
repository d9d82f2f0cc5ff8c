import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from '../icon.tsx';

export type Mark = 'neutral' | 'good' | 'warning' | 'bad' | 'next';

export function Timeline({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <ol class="timeline" aria-label={label}>
      {children}
    </ol>
  );
}

type StepProps = { mark: Mark; icon: IconName; children: ComponentChildren };

export function TimelineStep({ mark, icon, children }: StepProps) {
  return (
    <li class="timeline-entry">
      <span class={`timeline-mark timeline-${mark}`}>
        <Icon name={icon} size={12} />
      </span>
      {children}
    </li>
  );
}
