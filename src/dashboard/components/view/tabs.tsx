import type { ComponentChildren } from 'preact';
import { Link } from '../../router.tsx';
import { Icon, type IconName } from '../icon.tsx';

export type Tab = {
  readonly to: string;
  readonly label: string;
  readonly icon?: IconName;
  readonly isChosen: boolean;
  readonly title?: string;
  /** Colours a tab that needs someone. */
  readonly tone?: 'bad' | 'warning' | null;
  /** Stands behind the label. */
  readonly count?: ComponentChildren;
};

type TabsProps = { label: string; class?: string; tabs: readonly Tab[] };

export function Tabs({ label, class: className = '', tabs }: TabsProps) {
  return (
    <nav class={`tabs ${className}`} aria-label={label}>
      {tabs.map(({ to, label: text, icon, isChosen, title, tone, count }) => (
        <Link
          key={text}
          to={to}
          class={tone ? `tab tab-${tone}` : 'tab'}
          {...(title !== undefined && { title })}
          aria-current={isChosen ? 'page' : undefined}
        >
          {icon === undefined ? null : <Icon name={icon} size={12} />}
          {text}
          {count}
        </Link>
      ))}
    </nav>
  );
}
