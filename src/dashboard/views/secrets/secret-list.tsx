import { useEffect, useState } from 'preact/hooks';
import type { SecretList, SigningSecret } from '../../../client/secrets.ts';
import { asProblem, paybell } from '../../api.ts';
import { showToast } from '../../components/toasts.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { Countdown } from '../../components/values/time.tsx';
import { Lifetime } from './lifetime.tsx';

/** The text of a secret is not kept in memory until someone asks to see it. */
type SecretMetadata = Omit<SigningSecret, 'secret' | 'importedText'>;

export function withoutSecretText({ secrets, publicKeys, keySetPath }: SecretList) {
  const metadata = secrets.map(({ secretId, dateCreated, dateExpires }) => ({ secretId, dateCreated, dateExpires }));
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
  const { secretId, dateCreated, dateExpires } = secret;
  return (
    <li class="card secret">
      <Lifetime dateCreated={dateCreated} dateExpires={dateExpires} only={only} id={secretId} />
      <SecretText secretId={secretId} />
    </li>
  );
}

/** Loads the text on demand. It is hidden after a while, or when the tab is no longer visible. */
function SecretText({ secretId }: { secretId: string }) {
  const [shown, setShown] = useState<{ text: string; untilMs: number } | null>(null);
  useEffect(() => {
    if (shown === null) return;
    const hide = () => setShown(null);
    const onVisibility = () => document.hidden && hide();
    const timer = setTimeout(hide, shown.untilMs - Date.now());
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [shown]);

  const show = async () => {
    const text = await readSecret(secretId);
    if (text !== null) setShown({ text, untilMs: Date.now() + SHOWN_MS });
  };
  return (
    <div class="secret-text">
      <code>{shown === null ? `whsec_${'•'.repeat(24)}` : shown.text}</code>
      <span class="actions">
        <button
          type="button"
          class="button button-small"
          onClick={() => (shown === null ? void show() : setShown(null))}
        >
          {shown === null ? 'Show' : 'Hide'}
        </button>
        <CopyButton text={() => readSecret(secretId)} label="Copy" />
      </span>
      {shown === null ? null : (
        <p class="small muted">
          Hidden in <Countdown untilMs={shown.untilMs} />. Store it securely in your receiver’s configuration.
        </p>
      )}
    </div>
  );
}

async function readSecret(secretId: string): Promise<string | null> {
  try {
    const { secrets } = await paybell().secrets.list();
    const found = secrets.find((secret) => secret.secretId === secretId);
    if (found !== undefined) return found.secret;
    showToast({ tone: 'bad', text: 'This secret has expired.' });
  } catch (error) {
    showToast({ tone: 'bad', text: asProblem(error).detail });
  }
  return null;
}
