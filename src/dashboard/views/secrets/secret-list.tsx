import { useEffect, useState } from 'preact/hooks';
import type { SecretList, SigningSecret } from '../../../client/secrets.ts';
import { asProblem, paybell } from '../../api.ts';
import { showToast } from '../../components/toasts.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { Countdown } from '../../components/values/time.tsx';
import { Lifetime } from './lifetime.tsx';

/** The text of a secret is not kept in memory until someone asks to see it. */
type SecretMetadata = Omit<SigningSecret, 'secret' | 'importedText'> & { imported: boolean };

export function withoutSecretText({ secrets, publicKeys, keySetPath }: SecretList) {
  const metadata = secrets.map(({ secretId, importedText, dateCreated, dateExpires }) => {
    return { secretId, imported: importedText !== null, dateCreated, dateExpires };
  });
  return { secrets: metadata, publicKeys, keySetPath };
}

const SHOWN_MS = 30_000;

export function SecretCards({ secrets }: { secrets: readonly SecretMetadata[] }) {
  return (
    <ul class="secrets">
      {secrets.map((secret) => (
        <SecretCard key={secret.secretId} secret={secret} only={secrets.length === 1} />
      ))}
    </ul>
  );
}

function SecretCard({ secret, only }: { secret: SecretMetadata; only: boolean }) {
  const { secretId, imported, dateCreated, dateExpires } = secret;
  return (
    <li class="card secret">
      <Lifetime dateCreated={dateCreated} dateExpires={dateExpires} only={only} id={secretId} />
      {imported ? (
        <p class="small muted">
          Imported from another service as text. Receivers that have this text keep verifying with it.
        </p>
      ) : null}
      <SecretText secretId={secretId} />
    </li>
  );
}

/** Loads the text on demand. It is hidden after a while, or when the tab is no longer visible. */
function SecretText({ secretId }: { secretId: string }) {
  const [shown, setShown] = useState<(Revealed & { untilMs: number }) | null>(null);
  useEffect(() => {
    if (shown === null) return;
    const hide = () => setShown(null);
    const onVisibility = () => document.hidden && hide();
    const timer = setTimeout(hide, shown.untilMs - Date.now());
    document.addEventListener('visibilitychange', onVisibility);
    // The tab may have been hidden while the text was loaded or drawn, before there was a listener.
    onVisibility();
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [shown]);

  const show = async () => {
    const revealed = await readSecret(secretId);
    if (revealed !== null) setShown({ ...revealed, untilMs: Date.now() + SHOWN_MS });
  };
  return (
    <div class="secret-text">
      <code>{shown === null ? `whsec_${'•'.repeat(24)}` : shown.secret}</code>
      <span class="actions">
        <button
          type="button"
          class="button button-small"
          onClick={() => (shown === null ? void show() : setShown(null))}
        >
          {shown === null ? 'Show' : 'Hide'}
        </button>
        <CopyButton text={async () => (await readSecret(secretId))?.secret ?? null} label="Copy" />
      </span>
      {shown === null || shown.importedText === null ? null : (
        <p class="secret-imported small">
          The same secret as it was imported: <code>{shown.importedText}</code>
        </p>
      )}
      {shown === null ? null : (
        <p class="small muted">
          Hidden in <Countdown untilMs={shown.untilMs} />. Store it securely in your receiver’s configuration.
        </p>
      )}
    </div>
  );
}

type Revealed = Pick<SigningSecret, 'secret' | 'importedText'>;

async function readSecret(secretId: string): Promise<Revealed | null> {
  try {
    const { secrets } = await paybell().secrets.list();
    const found = secrets.find((secret) => secret.secretId === secretId);
    if (found !== undefined) return found;
    showToast({ tone: 'bad', text: 'This secret has expired.' });
  } catch (error) {
    showToast({ tone: 'bad', text: asProblem(error).detail });
  }
  return null;
}
