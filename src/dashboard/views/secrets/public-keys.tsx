import type { PublicKey } from '../../../client/secrets.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { Lifetime } from './lifetime.tsx';

type Props = { publicKeys: readonly PublicKey[]; keySetPath: string; onRotate: () => void };

/** The public halves of the signing keys. They are no secret, so they are always shown. */
export function PublicKeys({ publicKeys, keySetPath, onRotate }: Props) {
  return (
    <section class="stack">
      <div class="public-keys-head">
        <div>
          <h2>Public keys</h2>
          <p class="small muted">
            Verify <code>v1a</code> signatures without a shared secret, if the operator has enabled them.
          </p>
        </div>
        <ActionButton needs="secrets:write" onClick={onRotate}>
          <Icon name="retry" size={14} />
          Rotate key
        </ActionButton>
      </div>
      <ul class="secrets">
        {publicKeys.map(({ keyId, publicKey, dateCreated, dateExpires }) => (
          <li key={keyId} class="card secret">
            <Lifetime dateCreated={dateCreated} dateExpires={dateExpires} only={publicKeys.length === 1} id={keyId} />
            <KeyText text={publicKey} />
          </li>
        ))}
      </ul>
      <p class="small muted">Receivers can read the active keys from the key set, without an API key:</p>
      <KeyText text={location.origin + keySetPath} />
    </section>
  );
}

function KeyText({ text }: { text: string }) {
  return (
    <div class="secret-text">
      <code>{text}</code>
      <span class="actions">
        <CopyButton text={text} label="Copy" />
      </span>
    </div>
  );
}
