import type { ComponentChildren } from 'preact';
import type { Permission } from '../../domain/keys/api-keys.ts';
import { useObservable } from '../observable.ts';
import { missingPermissions } from '../session.ts';

type ActionProps = {
  /** The permission that the action requires. Without it the button is disabled, and its tooltip says why. */
  needs: Permission;
  class?: string;
  title?: string;
  label?: string;
  disabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
};

/** Why an action is disabled. */
export function missingText(permission: Permission): string {
  return `This API key needs the ${permission} permission`;
}

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
      title={forbidden ? missingText(needs) : title}
      disabled={forbidden || disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
