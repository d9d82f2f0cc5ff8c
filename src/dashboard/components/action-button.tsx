import type { ComponentChildren } from 'preact';
import { useStore } from '../observable.ts';
import { lacking } from '../session.ts';

type ActionProps = {
  /** Without it the server refuses; once it has said so, the button does not invite to try again. */
  needs: string;
  class?: string;
  title?: string;
  label?: string;
  disabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
};

/** A button for what a key may be too weak for. */
export function ActionButton({
  needs,
  class: look = 'button',
  title,
  label,
  disabled,
  onClick,
  children,
}: ActionProps) {
  const refused = useStore(lacking).has(needs);
  return (
    <button
      type="button"
      class={look}
      aria-label={label}
      title={refused ? `This key lacks the permission ${needs}` : title}
      disabled={refused || disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
