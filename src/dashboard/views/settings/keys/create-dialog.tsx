import { useState } from 'preact/hooks';
import type { CallerInfo } from '../../../../client/paybell.ts';
import type { NewOwnKey } from '../../../../client/tenants/keys.ts';
import type { Permission } from '../../../../domain/keys/api-keys.ts';
import { inputError, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Icon } from '../../../components/icon.tsx';
import { CopyButton } from '../../../components/values/copy.tsx';
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

  if (created !== null) return <Created name={name} entityId={caller.entityId} text={created} onClose={onClose} />;
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
          <Field label="Name" error={inputError(problem, 'name')} hint="Who or what uses it, such as “Support desk”.">
            {(control) => (
              <input
                {...control}
                type="text"
                required
                maxLength={200}
                value={name}
                onInput={(event) => setName(event.currentTarget.value)}
              />
            )}
          </Field>
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

type CreatedProps = { name: string; entityId: string; text: string; onClose: () => void };

function Created({ name, entityId, text, onClose }: CreatedProps) {
  return (
    <Dialog title="Key created" onClose={onClose}>
      <div class="dialog-body">
        <p class="alert alert-warning">
          <Icon name="alert" />
          <span>Copy the key of “{name}” now. It is shown only this once and cannot be read again.</span>
        </p>
        <div class="secret-text">
          <code>{text}</code>
          <span class="actions">
            <CopyButton text={text} label="Copy" />
          </span>
        </div>
        <p class="muted small">
          To sign in here with it, the entity ID is needed too: <code>{entityId}</code>
        </p>
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button button-primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}
