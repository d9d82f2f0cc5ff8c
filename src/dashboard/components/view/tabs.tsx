import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Link } from '../../router.tsx';
import { Icon, type IconName } from '../icon.tsx';

export type Tab = {
  readonly to: string;
  readonly label: string;
  readonly icon?: IconName;
  readonly isChosen: boolean;
  readonly title?: string;
  /** Colours a tab that needs attention. */
  readonly tone?: 'bad' | 'warning' | null;
  /** Stands behind the label. */
  readonly count?: ComponentChildren;
};

type TabsProps = { label: string; class?: string; tabs: readonly Tab[] };

export function Tabs({ label, class: className = '', tabs }: TabsProps) {
  const nav = useRef<HTMLElement>(null);
  const shown = useRef('');
  // On a phone, the chosen tab may be beyond the edge, even later, when the counts have made the tabs wider.
  useLayoutEffect(() => {
    const tab = nav.current?.querySelector<HTMLElement>('[aria-current]');
    if (nav.current === null || !tab) return;
    const now = `${tab.offsetLeft} ${tab.offsetWidth}`;
    if (now === shown.current) return;
    shown.current = now;
    nav.current.scrollLeft = tab.offsetLeft - (nav.current.clientWidth - tab.offsetWidth) / 2;
  });
  return (
    <nav ref={nav} class={`tabs ${className}`} aria-label={label}>
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
