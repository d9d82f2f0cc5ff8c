import { useState } from 'preact/hooks';
import { type ApiProblem, asProblem, paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { Form, TextField } from '../../components/inputs.tsx';
import { ProblemAlert } from '../../components/view/states.tsx';
import { diagnose, type Evidence, headerOf, parseHeaders, type SignedRequest, type Verdict } from './diagnose.ts';
import { VerdictCard } from './verdict.tsx';

type Result = { readonly request: SignedRequest; readonly verdict: Verdict };

/** Verifies a request in the browser, as a receiver would. Only its webhook-id is sent to the server. */
export function SignatureVerifier() {
  const [result, setResult] = useState<Result | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [secret, setSecret] = useState('');
  const [busy, setBusy] = useState(false);

  const verify = async (form: FormData) => {
    const request = { body: textIn(form, 'body'), headers: parseHeaders(textIn(form, 'headers')) };
    setBusy(true);
    try {
      const verdict = await diagnose(request, secret.trim(), await loadEvidence(request), Date.now() / 1000);
      setResult({ request, verdict });
      setProblem(null);
    } catch (error) {
      setResult(null);
      setProblem(asProblem(error));
    }
    setBusy(false);
  };

  return (
    <section class="card verifier">
      <h2>Verify a signature</h2>
      <p class="muted">
        Paste a request as your receiver got it. Your browser verifies it with the library that receivers use. Only the{' '}
        <code>webhook-id</code> is sent to the server; the body, signature and secret are not.
      </p>
      {crypto.subtle === undefined ? <NoCrypto /> : null}
      <Form class="stack" onSubmit={(form) => void verify(form)}>
        <div class="verifier-fields">
          <Field label="Body" hint="The raw body exactly as received, neither parsed nor reformatted.">
            {(control) => <textarea {...control} name="body" class="mono" rows={8} spellcheck={false} />}
          </Field>
          <Field label="Headers" hint="webhook-id, webhook-timestamp and webhook-signature. Others are ignored.">
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
            {busy ? 'Verifying…' : 'Verify signature'}
          </button>
        </div>
        <div role="status">
          {problem === null ? null : <ProblemAlert problem={problem} />}
          {result === null ? null : <VerdictCard {...result} />}
        </div>
      </Form>
    </section>
  );
}

function textIn(form: FormData, name: string): string {
  // Browsers submit the line breaks of a text area as CR LF, which the sender did not write.
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
    <div class="verifier-secret">
      <TextField
        label="Secret"
        field="field-grow"
        type="password"
        class="mono"
        required
        autocomplete="off"
        placeholder="whsec_… or whpk_…"
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <ActionButton needs="secrets:read" onClick={() => void fill()}>
        <Icon name="secrets" size={14} />
        Use newest secret
      </ActionButton>
    </div>
  );
}

/** Without the permission to read the delivery or the secrets, the verdict is less specific. */
async function loadEvidence(request: SignedRequest): Promise<Evidence> {
  const deliveryId = headerOf(request, 'webhook-id') ?? '';
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
    <p class="alert alert-warning">
      <Icon name="alert" />
      <span>
        Browsers can verify signatures only on pages served over <code>https</code> or from localhost.
      </span>
    </p>
  );
}
