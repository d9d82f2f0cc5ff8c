import { PERMISSIONS, type Permission } from '../../../../domain/keys/api-keys.ts';
import { missingText } from '../../../components/action-button.tsx';

type FieldsProps = {
  /** Permissions of the session's key, which a new key can have. */
  held: readonly Permission[];
  chosen: readonly Permission[];
  onChange: (chosen: readonly Permission[]) => void;
  error: string | null;
};

/** A read-only key does not need the signing secrets. */
function isLookingOnly(permission: Permission): boolean {
  return permission.endsWith(':read') && permission !== 'secrets:read';
}

export function PermissionFields({ held, chosen, onChange, error }: FieldsProps) {
  const toggle = (permission: Permission) =>
    onChange(chosen.includes(permission) ? chosen.filter((other) => other !== permission) : [...chosen, permission]);
  return (
    <fieldset class="permissions">
      <legend>Permissions</legend>
      <div class="actions">
        <button type="button" class="button button-small" onClick={() => onChange(held.filter(isLookingOnly))}>
          Read only
        </button>
        <button type="button" class="button button-small" onClick={() => onChange(held)}>
          All your permissions
        </button>
        <button type="button" class="button button-small" onClick={() => onChange([])}>
          None
        </button>
      </div>
      <div class="permission-grid">
        {PERMISSIONS.map((permission) => (
          <label key={permission} class="check" title={held.includes(permission) ? undefined : missingText(permission)}>
            <input
              type="checkbox"
              checked={chosen.includes(permission)}
              disabled={!held.includes(permission)}
              onChange={() => toggle(permission)}
            />
            <code>{permission}</code>
          </label>
        ))}
      </div>
      <p class={error === null ? 'hint' : 'hint error-text'}>
        {error ?? 'A key can give only permissions that it has itself.'}
      </p>
    </fieldset>
  );
}
