import { useId, useState } from 'preact/hooks';
import type { Coverage } from '../../../../client/types.ts';
import { type ApiProblem, asProblem, faultOf, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { Loading, Notice } from '../../../components/lists/states.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Curl } from '../../../components/values/copy.tsx';
import { useResponse } from '../../../use-response.ts';
import { noteWebhooksChanged } from '../changed-signal.ts';
import { type Chosen, Pairs } from './pairs.tsx';

type RegisterProps = {
  /** Names every network and event that the server knows. */
  coverage: Coverage | null;
  preset?: Chosen;
  onClose: () => void;
};

const NOTHING: Chosen = { networkIds: [], events: [] };

/** One URL for several networks and events at once; how many webhooks that makes is said before. */
export function RegisterDialog({ coverage, preset = NOTHING, onClose }: RegisterProps) {
  const [chosen, setChosen] = useState(preset);
  const [postUrl, setPostUrl] = useState('');
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  const count = chosen.networkIds.length * chosen.events.length;
  const registration = { postUrl, networkIds: [...chosen.networkIds], events: [...chosen.events] };

  const register = async () => {
    setBusy(true);
    try {
      const { totalResults } = await paybell().webhooks.register(registration);
      showToast({ tone: 'good', text: `${webhooks(totalResults)} registered for ${postUrl}` });
      noteWebhooksChanged();
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };

  return (
    <Dialog title="Register webhooks" onClose={onClose} wide>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void register();
        }}
      >
        <div class="dialog-body">
          {problem !== null && faultOf(problem, 'postUrl') === null ? <Notice problem={problem} /> : null}
          <UrlField value={postUrl} onInput={setPostUrl} fault={faultOf(problem, 'postUrl')} />
          {coverage === null ? <Loading what="networks and events" /> : <Pairs {...{ coverage, chosen, setChosen }} />}
          <details>
            <summary>The same from a terminal</summary>
            <Curl method="POST" path="/webhooks/classic" body={registration} />
          </details>
        </div>
        <footer class="dialog-foot">
          <p class="number" role="status">
            {chosen.networkIds.length} {chosen.networkIds.length === 1 ? 'network' : 'networks'} ×{' '}
            {chosen.events.length} {chosen.events.length === 1 ? 'event' : 'events'} ={' '}
            <strong>{webhooks(count)}</strong>
          </p>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button button-primary" disabled={busy || count === 0}>
            {busy ? 'Registering…' : `Register ${count === 0 ? '' : webhooks(count)}`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function webhooks(count: number): string {
  return `${count} ${count === 1 ? 'webhook' : 'webhooks'}`;
}

type UrlFieldProps = { value: string; onInput: (value: string) => void; fault: string | null };

/** Offers the URLs in use, because a gap is mostly filled with one of them. */
function UrlField({ value, onInput, fault }: UrlFieldProps) {
  const listId = useId();
  const known = useResponse('urls', (signal) => paybell().webhooks.list({ limit: 100 }, { signal }));
  const urls = new Set(known.data?.webhooks.map((webhook) => webhook.postUrl));
  return (
    <Field label="Post to" fault={fault} hint="An absolute https URL on a public host. It is kept exactly as given.">
      {(control) => (
        <>
          <input
            {...control}
            type="text"
            inputmode="url"
            class="mono"
            required
            placeholder="https://example.com/hooks/paybell"
            list={listId}
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
          <datalist id={listId}>
            {[...urls].map((url) => (
              <option key={url} value={url} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
