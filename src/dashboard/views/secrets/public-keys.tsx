import type { PublicKey } from '../../../client/secrets.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { SecretText } from '../../components/form-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/view/section.tsx';
import { Lifetime } from './lifetime.tsx';

type Props = { publicKeys: readonly PublicKey[]; keySetPath: string; onRotate: () => void };

/** The public halves of the signing keys. They are public, so they are always shown. */
export function PublicKeys({ publicKeys, keySetPath, onRotate }: Props) {
  return (
    <Section
      title="Public keys"
      actions={
        <ActionButton needs="secrets:write" onClick={onRotate}>
          <Icon name="retry" size={14} />
          Rotate key
        </ActionButton>
      }
    >
      <p class="small muted">
        Verify <code>v1a</code> signatures without a shared secret, if the operator has enabled them.
      </p>
      <ul class="secrets">
        {publicKeys.map(({ keyId, publicKey, dateCreated, dateExpires }) => (
          <li key={keyId} class="card secret">
            <Lifetime dateCreated={dateCreated} dateExpires={dateExpires} only={publicKeys.length === 1} id={keyId} />
            <SecretText text={publicKey} />
          </li>
        ))}
      </ul>
      <p class="small muted">Receivers can read the active keys from the key set, without an API key:</p>
      <SecretText text={location.origin + keySetPath} />
    </Section>
  );
}
