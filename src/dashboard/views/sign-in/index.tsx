import { useEffect, useState } from 'preact/hooks';
import { isOperator } from '../../../domain/keys/api-keys.ts';
import { type ApiProblem, asProblem, clientFor } from '../../api.ts';
import { Icon, LogoMark } from '../../components/icon.tsx';
import { Form, TextField, textIn } from '../../components/inputs.tsx';
import { ProblemAlert } from '../../components/view/states.tsx';
import { useObservable } from '../../observable.ts';
import { type Session, signIn, signOutReason } from '../../session.ts';

/** Takes the two credentials of the API and verifies them before they are stored. */
export function SignIn() {
  const reason = useObservable(signOutReason);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);

  useEffect(() => document.querySelector<HTMLElement>('.sign-in input')?.focus(), []);

  const submit = async (given: FormData) => {
    const credentials = { entityId: textIn(given, 'entityId'), apiKey: textIn(given, 'apiKey') };
    setBusy(true);
    const rejection = await verifyCredentials(credentials);
    setBusy(false);
    setProblem(rejection);
    if (rejection === null) signIn(credentials, given.has('remember'));
  };

  return (
    <main class="sign-in">
      <Form class="card" onSubmit={(form) => void submit(form)}>
        <LogoMark size={40} />
        <h1>Sign in to Paybell</h1>
        <p class="muted">Your credentials stay in this browser.</p>
        {reason === null ? null : (
          <p class="alert" role="status">
            <Icon name="info" />
            <span>{reason}</span>
          </p>
        )}
        {problem === null ? null : <ProblemAlert problem={problem} />}
        <TextField
          label="Entity ID"
          hint="An entity is a tenant: it owns webhooks, events and API keys. Operators leave it empty to see all."
          name="entityId"
          class="mono"
          placeholder="ent_…"
          autocomplete="username"
        />
        <TextField
          label="API key"
          name="apiKey"
          class="mono"
          type="password"
          required
          placeholder="pbk_…"
          autocomplete="current-password"
        />
        <label class="check">
          <input type="checkbox" name="remember" />
          <span>Stay signed in after this tab is closed</span>
        </label>
        <button type="submit" class="button button-primary button-wide" disabled={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
        <p class="muted small">
          Paybell prints both on its first start. A colleague can create a key for you under Settings, or the operator
          with <code>paybell keys create --entity &lt;id&gt;</code>.
        </p>
      </Form>
    </main>
  );
}

/**
 * Null if the credentials are valid. Every key may ask for its own permissions. An operator needs no entity. An
 * operator who names an entity opens it, as from the list of entities.
 */
async function verifyCredentials(credentials: Session): Promise<ApiProblem | null> {
  const client = clientFor(credentials);
  try {
    if (credentials.entityId === '') await client.admin.listAttention({ limit: 1 });
    else if (isOperator((await client.entity()).keyId)) await client.admin.visitEntity(credentials.entityId);
    return null;
  } catch (error) {
    return asProblem(error);
  }
}
