import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from '../../../components/icon.tsx';
import { Link } from '../../../router.tsx';

type ItemProps = {
  tone: 'bad' | 'warning';
  icon: IconName;
  /** Links to the things that the sentence names. A target that begins with # is on this page. */
  action: { readonly label: string; readonly to: string };
  children: ComponentChildren;
};

/** One thing that needs attention: a sentence and one action. */
export function AttentionItem({ tone, icon, action, children }: ItemProps) {
  return (
    <li class={`attention-item attention-${tone}`}>
      <Icon name={icon} />
      <p>{children}</p>
      {action.to.startsWith('#') ? (
        <a class="button button-small" href={action.to}>
          {action.label}
        </a>
      ) : (
        <Link class="button button-small" to={action.to}>
          {action.label}
        </Link>
      )}
    </li>
  );
}
