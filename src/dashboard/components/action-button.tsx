import type { ComponentChildren } from 'preact';
import type { Permission } from '../../domain/api-keys.ts';
import { useObservable } from '../observable.ts';
import { missingPermissions } from '../session.ts';

type ActionProps = {
  /** The permission that the action requires. The button is disabled once the server has reported it missing. */
  needs: Permission;
  class?: string;
  title?: string;
  label?: string;
  disabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
};

/** A button for an action that requires a permission. */
export function ActionButton({
  needs,
  class: className = 'button',
  title,
  label,
  disabled,
  onClick,
  children,
}: ActionProps) {
  const forbidden = useObservable(missingPermissions).has(needs);
  return (
    <button
      type="button"
      class={className}
      aria-label={label}
      title={forbidden ? `This API key needs the ${needs} permission` : title}
      disabled={forbidden || disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
