import { useState } from 'preact/hooks';
import { type ApiProblem, asProblem, paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { Notice } from '../../components/lists/states.tsx';
import { diagnose, type Evidence, headerOf, type Post, parseHeaders, type Verdict } from './diagnose.ts';
import { VerdictCard } from './verdict.tsx';

type Tested = { readonly post: Post; readonly verdict: Verdict };

/** Checks a post as a receiver would, in this browser: of what is typed here, only the webhook-id is sent. */
export function SignatureTester() {
  const [tested, setTested] = useState<Tested | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [secret, setSecret] = useState('');
  const [busy, setBusy] = useState(false);

  const test = async (form: FormData) => {
    const post = { body: textIn(form, 'body'), headers: parseHeaders(textIn(form, 'headers')) };
    setBusy(true);
    try {
      const verdict = await diagnose(post, secret.trim(), await evidenceFor(post), Date.now() / 1000);
      setTested({ post, verdict });
      setProblem(null);
    } catch (error) {
      setTested(null);
      setProblem(asProblem(error));
    }
    setBusy(false);
  };

  return (
    <section class="card tester">
      <h2>Test a signature</h2>
      <p class="muted">
        Paste a post as your receiver got it. It is checked in this browser with the verifier that receivers use. Body,
        signature and secret stay here; only the <code>webhook-id</code> is looked up.
      </p>
      {crypto.subtle === undefined ? <NoCrypto /> : null}
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void test(new FormData(event.currentTarget));
        }}
      >
        <div class="tester-fields">
          <Field label="Body" hint="The raw bytes: not parsed and written again, no line break added.">
            {(control) => <textarea {...control} name="body" class="mono" rows={8} spellcheck={false} />}
          </Field>
          <Field label="Headers" hint="webhook-id, webhook-timestamp and webhook-signature; others do no harm.">
            {(control) => (
              <textarea
                {...control}
                name="headers"
                class="mono"
                rows={8}
                required
                spellcheck={false}
                placeholder={'webhook-id: dlv_…\nwebhook-timestamp: 1763168400\nwebhook-signature: v1,…'}
              />
            )}
          </Field>
        </div>
        <SecretField value={secret} onInput={setSecret} onProblem={setProblem} />
        <div>
          <button type="submit" class="button button-primary" disabled={busy}>
            {busy ? 'Checking…' : 'Check the signature'}
          </button>
        </div>
        <div role="status">
          {problem === null ? null : <Notice problem={problem} />}
          {tested === null ? null : <VerdictCard {...tested} />}
        </div>
      </form>
    </section>
  );
}

function textIn(form: FormData, name: string): string {
  // Browsers send the line breaks of a text area as CR LF; nobody typed the CR.
  return String(form.get(name) ?? '').replaceAll('\r\n', '\n');
}

type SecretFieldProps = {
  value: string;
  onInput: (value: string) => void;
  onProblem: (problem: ApiProblem) => void;
};

function SecretField({ value, onInput, onProblem }: SecretFieldProps) {
  const fill = async () => {
    try {
      onInput((await paybell().secrets.list()).secrets[0]?.secret ?? '');
    } catch (error) {
      onProblem(asProblem(error));
    }
  };
  return (
    <div class="tester-secret">
      <Field label="Secret" class="field-grow">
        {(control) => (
          <input
            {...control}
            type="password"
            class="mono"
            required
            autocomplete="off"
            placeholder="whsec_… or whpk_…"
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        )}
      </Field>
      <ActionButton needs="secrets:read" onClick={() => void fill()}>
        <Icon name="secrets" size={14} />
        Use the newest
      </ActionButton>
    </div>
  );
}

/** Whatever this key may not see is no evidence, and the verdict is the less certain. */
async function evidenceFor(post: Post): Promise<Evidence> {
  const deliveryId = headerOf(post, 'webhook-id') ?? '';
  const client = paybell();
  const [delivery, list] = await Promise.allSettled([
    deliveryId === '' ? Promise.reject() : client.deliveries.get(deliveryId),
    client.secrets.list(),
  ]);
  return {
    sentBody: delivery.status === 'fulfilled' ? delivery.value.body : null,
    secrets: list.status === 'fulfilled' ? list.value.secrets : [],
  };
}

function NoCrypto() {
  return (
    <p class="notice notice-warning">
      <Icon name="alert" />
      <span>
        This browser checks signatures only on pages that came over <code>https</code> or from this machine.
      </span>
    </p>
  );
}
