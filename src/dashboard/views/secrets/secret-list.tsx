import { useEffect, useState } from 'preact/hooks';
import type { SecretList, SigningSecret } from '../../../client/types.ts';
import { asProblem, paybell } from '../../api.ts';
import { showToast } from '../../components/toasts.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { Countdown, Time } from '../../components/values/time.tsx';

/** A secret without its text: nothing of it is in the page before somebody asks to see it. */
export type KnownSecret = Omit<SigningSecret, 'secret'>;
export type KnownSecrets = { readonly secrets: readonly KnownSecret[]; readonly publicKey: string };

export function withoutTexts({ secrets, publicKey }: SecretList): KnownSecrets {
  return { secrets: secrets.map(({ secret: _, ...known }) => known), publicKey };
}

const SHOWN_MS = 30_000;

export function SecretCards({ known }: { known: KnownSecrets }) {
  return (
    <ul class="secrets">
      {known.secrets.map((secret) => (
        <SecretCard key={secret.secretId} secret={secret} alone={known.secrets.length === 1} />
      ))}
      <PublicKey text={known.publicKey} />
    </ul>
  );
}

function SecretCard({
  secret: { secretId, dateCreated, dateExpires },
  alone,
}: {
  secret: KnownSecret;
  alone: boolean;
}) {
  return (
    <li class="card secret">
      <div class="secret-head">
        {dateExpires === null ? (
          <Badge tone="good" icon="check">
            {alone ? 'Signs every post' : 'Newest'}
          </Badge>
        ) : (
          <Badge tone="warning" icon="clock">
            Ends <Time seconds={dateExpires} />
          </Badge>
        )}
        <span class="small muted">
          made <Time seconds={dateCreated} />
        </span>
        <code class="small muted secret-id">{secretId}</code>
      </div>
      <SecretText secretId={secretId} />
    </li>
  );
}

/** Fetched when it is asked for, and gone again after a while or when the tab goes out of view. */
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
          Hidden again in <Countdown untilMs={shown.untilMs} />. Keep it where your receiver reads it, and nowhere else.
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
    showToast({ tone: 'bad', text: 'This secret has ended meanwhile.' });
  } catch (error) {
    showToast({ tone: 'bad', text: asProblem(error).detail });
  }
  return null;
}

/** No secret: anybody may know it. */
function PublicKey({ text }: { text: string }) {
  return (
    <li class="card secret">
      <div class="secret-head">
        <Badge tone="neutral" icon="info">
          Public key
        </Badge>
        <span class="small muted">
          checks <code>v1a</code> signatures without any secret, where the operator has switched them on
        </span>
      </div>
      <div class="secret-text">
        <code>{text}</code>
        <span class="actions">
          <CopyButton text={text} label="Copy" />
        </span>
      </div>
    </li>
  );
}
