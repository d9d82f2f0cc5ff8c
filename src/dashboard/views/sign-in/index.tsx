import { useState } from 'preact/hooks';
import { type ApiProblem, asProblem, clientFor, missingPermission } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { Icon, LogoMark } from '../../components/icon.tsx';
import { Notice } from '../../components/lists/states.tsx';
import { useStore } from '../../observable.ts';
import { type Session, signedOutBecause, signIn } from '../../session.ts';

/** The two values that every request of the API carries, tried once before they are kept. */
export function SignIn() {
  const reason = useStore(signedOutBecause);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);

  const submit = async (form: HTMLFormElement) => {
    const given = new FormData(form);
    const credentials = { entityId: textIn(given, 'entityId'), apiKey: textIn(given, 'apiKey') };
    setBusy(true);
    const refused = await refusalOf(credentials);
    setBusy(false);
    setProblem(refused);
    if (refused === null) signIn(credentials, given.has('remember'));
  };

  return (
    <main class="sign-in">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <LogoMark size={40} />
        <h1>Sign in to Paybell</h1>
        <p class="muted">With the two values that every request carries. They stay in this browser.</p>
        {reason === null ? null : (
          <p class="notice" role="status">
            <Icon name="info" />
            <span>{reason}</span>
          </p>
        )}
        {problem === null ? null : <Notice problem={problem} />}
        <Field label="Entity id">
          {(control) => (
            <input {...control} name="entityId" class="mono" required placeholder="ent_…" autocomplete="username" />
          )}
        </Field>
        <Field label="API key">
          {(control) => (
            <input
              {...control}
              name="apiKey"
              class="mono"
              type="password"
              required
              placeholder="pbk_…"
              autocomplete="current-password"
            />
          )}
        </Field>
        <label class="check">
          <input type="checkbox" name="remember" />
          <span>
            Remember on this device <span class="muted">– otherwise until this tab is closed</span>
          </span>
        </label>
        <button type="submit" class="button button-primary button-wide" disabled={busy}>
          {busy ? 'Checking…' : 'Sign in'}
        </button>
        <p class="muted small">
          The first start prints both. For another key: <code>paybell keys create --entity &lt;id&gt;</code>
        </p>
      </form>
    </main>
  );
}

function textIn(form: FormData, name: string): string {
  return String(form.get(name) ?? '').trim();
}

/** A good key that may not list webhooks is still a good key: it shows what it can. */
async function refusalOf(credentials: Session): Promise<ApiProblem | null> {
  try {
    await clientFor(credentials).webhooks.list({ limit: 1 });
    return null;
  } catch (error) {
    const problem = asProblem(error);
    return missingPermission(problem) === null ? problem : null;
  }
}
