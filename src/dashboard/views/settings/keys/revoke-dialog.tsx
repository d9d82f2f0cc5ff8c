import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../../client/admin.ts';
import { asProblem, paybell } from '../../../api.ts';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Icon } from '../../../components/icon.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Time } from '../../../components/values/time.tsx';
import { signOut } from '../../../session.ts';

type RevokeProps = {
  apiKey: ApiKey;
  isOwn: boolean;
  /** Whether no other known key can create keys. */
  isLastKnown: boolean;
  onRevoked: () => Promise<void>;
  onClose: () => void;
};

/**
 * Revoking cannot be undone, so the dialog shows the last use, and warns if this is the last key that can create keys.
 * The server revokes the last key only with a confirmation.
 */
export function RevokeDialog({ apiKey, isOwn, isLastKnown, onRevoked, onClose }: RevokeProps) {
  const [isLast, setIsLast] = useState(isLastKnown);
  const { keyId, name, prefix, lastFour, dateLastUsed } = apiKey;

  const revoke = async () => {
    try {
      await paybell().keys.revoke(keyId, { ...(isOwn && { self: 'true' }), ...(isLast && { last: 'true' }) });
    } catch (error) {
      if (asProblem(error).code !== 'last_key') throw error;
      return setIsLast(true);
    }
    if (isOwn) return signOut('You have revoked the key of this session.');
    showToast({ tone: 'good', text: `${name} is revoked` });
    onClose();
    await onRevoked();
  };

  return (
    <FormDialog
      title="Revoke API key"
      submit={{ label: isLast ? 'Revoke the last key' : 'Revoke key', busy: 'Revoking…', isDangerous: true }}
      onSubmit={revoke}
      onClose={onClose}
    >
      {() => (
        <>
          {isLast ? <LastKey /> : null}
          <p>
            <strong>{name}</strong>{' '}
            <code>
              {prefix}…{lastFour}
            </code>{' '}
            fails from its next request on. This cannot be undone.
          </p>
          {isOwn ? <OwnKey /> : <LastUse seconds={dateLastUsed} />}
        </>
      )}
    </FormDialog>
  );
}

function LastUse({ seconds }: { seconds: number | null }) {
  if (seconds === null)
    return <p class="muted">Paybell has recorded no use of this key. A use is recorded within a minute.</p>;
  return (
    <p class="muted">
      It was last used <Time seconds={seconds} />.
    </p>
  );
}

function OwnKey() {
  return (
    <p class="alert alert-warning">
      <Icon name="alert" />
      <span>It is the key of this session: you will be signed out.</span>
    </p>
  );
}

function LastKey() {
  return (
    <p class="alert alert-bad" role="alert">
      <Icon name="alert" />
      <span>
        <strong>It is the last key that can create keys.</strong> Create another key first. Without such a key, only the
        operator of the server can give access again.
      </span>
    </p>
  );
}
