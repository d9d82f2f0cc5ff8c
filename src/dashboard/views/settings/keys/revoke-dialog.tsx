import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../../client/admin.ts';
import { type ApiProblem, asProblem, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Icon } from '../../../components/icon.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Time } from '../../../components/values/time.tsx';
import { ProblemAlert } from '../../../components/view/states.tsx';
import { signOut } from '../../../session.ts';

type RevokeProps = {
  apiKey: ApiKey;
  isOwn: boolean;
  /** Whether no other key is known that can create others. */
  isLastKnown: boolean;
  onRevoked: () => Promise<void>;
  onClose: () => void;
};

/** Revoking cannot be undone, so it says who still uses the key, and that it is the last. The server refuses that until it is told so. */
export function RevokeDialog({ apiKey, isOwn, isLastKnown, onRevoked, onClose }: RevokeProps) {
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  const { keyId, name, prefix, lastFour, dateLastUsed } = apiKey;
  const isLast = isLastKnown || problem?.code === 'last_key';

  const revoke = async () => {
    setBusy(true);
    try {
      await paybell().keys.revoke(keyId, { ...(isOwn && { self: 'true' }), ...(isLast && { last: 'true' }) });
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
      return;
    }
    if (isOwn) return signOut('You have revoked the key of this session.');
    showToast({ tone: 'good', text: `${name} is revoked` });
    onClose();
    await onRevoked();
  };

  return (
    <Dialog title="Revoke API key" onClose={onClose}>
      <div class="dialog-body">
        {isLast ? <LastKey /> : null}
        {problem === null || problem.code === 'last_key' ? null : <ProblemAlert problem={problem} />}
        <p>
          <strong>{name}</strong>{' '}
          <code>
            {prefix}…{lastFour}
          </code>{' '}
          is refused from its next request on. This cannot be undone.
        </p>
        {isOwn ? null : (
          <p class="muted">
            {dateLastUsed === null ? (
              'No use of it is recorded. A use is recorded up to a minute later.'
            ) : (
              <>
                It was last used <Time seconds={dateLastUsed} />.
              </>
            )}
          </p>
        )}
        {isOwn ? (
          <p class="alert alert-warning">
            <Icon name="alert" />
            <span>It is the key of this session: you will be signed out.</span>
          </p>
        ) : null}
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button button-danger" disabled={busy} onClick={() => void revoke()}>
          {isLast ? 'Revoke the last key' : 'Revoke key'}
        </button>
      </footer>
    </Dialog>
  );
}

function LastKey() {
  return (
    <p class="alert alert-bad" role="alert">
      <Icon name="alert" />
      <span>
        <strong>It is the last key that can create others.</strong> Create another one first. Without any, only the
        operator of the server can give access again.
      </span>
    </p>
  );
}
