import { useState } from 'preact/hooks';
import type { CallerInfo } from '../../../../client/paybell.ts';
import type { NewOwnKey } from '../../../../client/tenants/keys.ts';
import type { Permission } from '../../../../domain/keys/api-keys.ts';
import { inputError, paybell } from '../../../api.ts';
import { CreatedDialog, FormDialog } from '../../../components/form-dialog.tsx';
import { Icon } from '../../../components/icon.tsx';
import { TextField } from '../../../components/inputs.tsx';
import { ExpiryField, expiryOf } from './expiry-field.tsx';
import { PermissionFields } from './permission-fields.tsx';

type CreateProps = { caller: CallerInfo; onCreated: () => Promise<void>; onClose: () => void };

const FIELDS = ['name', 'permissions', 'dateExpires'];

/** Creates a key and shows it, once. */
export function CreateKeyDialog({ caller, onCreated, onClose }: CreateProps) {
  const [name, setName] = useState('');
  const [permissions, setPermissions] = useState<readonly Permission[]>([]);
  const [days, setDays] = useState('');
  const [created, setCreated] = useState<string | null>(null);

  const create = async () => {
    const key: NewOwnKey = { name: name.trim(), permissions: [...permissions], ...expiryOf(days, Date.now()) };
    setCreated((await paybell().keys.create(key)).apiKey);
    await onCreated();
  };

  if (created !== null) {
    return (
      <CreatedDialog title="Key created" text={created} onClose={onClose}>
        <p class="alert alert-warning">
          <Icon name="alert" />
          <span>Copy the key of “{name}” now. It is shown only this once and cannot be read again.</span>
        </p>
        <p class="muted small">
          To sign in here with it, the entity ID is needed too: <code>{caller.entityId}</code>
        </p>
      </CreatedDialog>
    );
  }
  return (
    <FormDialog
      title="Create API key"
      wide
      submit={{ label: 'Create key', busy: 'Creating…', isDisabled: permissions.length === 0 }}
      onSubmit={create}
      onClose={onClose}
      fields={FIELDS}
    >
      {(problem) => (
        <>
          <TextField
            label="Name"
            error={inputError(problem, 'name')}
            hint="Who or what uses it, such as “Support desk”."
            required
            maxLength={200}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <PermissionFields
            held={caller.permissions}
            chosen={permissions}
            onChange={setPermissions}
            error={inputError(problem, 'permissions')}
          />
          <ExpiryField
            value={days}
            onChange={setDays}
            latestS={caller.dateExpires}
            error={inputError(problem, 'dateExpires')}
          />
        </>
      )}
    </FormDialog>
  );
}
