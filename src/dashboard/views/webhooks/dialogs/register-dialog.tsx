import { useId, useState } from 'preact/hooks';
import type { Coverage } from '../../../../client/webhooks.ts';
import type { WebhookFinality } from '../../../../domain/chain/finality-by-amount.ts';
import { inputError, paybell } from '../../../api.ts';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { TextField } from '../../../components/inputs.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { countOf } from '../../../components/values/count-text.ts';
import { ApiRequests } from '../../../components/view/api-requests.tsx';
import { Loading } from '../../../components/view/states.tsx';
import { useResponse } from '../../../use-response.ts';
import { bumpWebhooksRevision } from '../revision.ts';
import { FinalityField } from './finality-field.tsx';
import { networkIdIn } from './other-network.tsx';
import { type Chosen, Pairs } from './pairs.tsx';
import { countRegistered, readRegisteredPairs, useRegisteredPairs } from './registered-pairs.ts';

type RegisterProps = {
  /** Lists the networks and events that the server knows. */
  coverage: Coverage | null;
  preset?: Chosen;
  onClose: () => void;
};

const FINALITY = 'options.finality';
const NOTHING_CHOSEN: Chosen = { networkIds: [], events: [] };

/** Registers one URL for any number of networks and events, and shows how many webhooks that creates. */
export function RegisterDialog({ coverage, preset = NOTHING_CHOSEN, onClose }: RegisterProps) {
  const [picked, setPicked] = useState(preset);
  const [typed, setTyped] = useState('');
  const [postUrl, setPostUrl] = useState('');
  const [finality, setFinality] = useState<WebhookFinality | null>(null);
  const chosen = withTyped(picked, typed);
  const count = chosen.networkIds.length * chosen.events.length;
  const isTypedWrong = typed.trim() !== '' && networkIdIn(typed) === null;
  const registered = useRegisteredPairs(postUrl);
  const registration = {
    ...{ postUrl, networkIds: [...chosen.networkIds], events: [...chosen.events] },
    ...(finality !== null && { options: { finality } }),
  };

  const register = async () => {
    // A key that may not read webhooks registers without knowing the existing ones.
    const before = await readRegisteredPairs(postUrl).catch(() => null);
    const { totalResults } = await paybell().webhooks.register(registration);
    const existed = before === null ? 0 : countRegistered(chosen, before);
    showToast({ tone: existed === totalResults ? 'neutral' : 'good', text: doneText(totalResults, existed, postUrl) });
    bumpWebhooksRevision();
    onClose();
  };

  return (
    <FormDialog
      title="Register webhooks"
      wide
      submit={{
        label: `Register ${count === 0 ? '' : countOf(count, 'webhook')}`,
        busy: 'Registering…',
        isDisabled: count === 0 || isTypedWrong,
      }}
      onSubmit={register}
      onClose={onClose}
      fields={['postUrl', FINALITY]}
      summary={<Preview chosen={chosen} existing={registered === null ? 0 : countRegistered(chosen, registered)} />}
    >
      {(problem) => (
        <>
          <UrlField value={postUrl} onInput={setPostUrl} error={inputError(problem, 'postUrl')} />
          {coverage === null ? (
            <Loading what="networks and events" />
          ) : (
            <Pairs {...{ coverage, typed, setTyped }} chosen={picked} setChosen={setPicked} />
          )}
          <FinalityField value={finality} onChange={setFinality} error={inputError(problem, FINALITY)} event={null} />
          <ApiRequests commands={[{ method: 'POST', path: '/webhooks/classic', body: registration }]} />
        </>
      )}
    </FormDialog>
  );
}

/** A typed network counts as chosen, even if it was not added. */
function withTyped(picked: Chosen, typed: string): Chosen {
  const networkId = networkIdIn(typed);
  return networkId === null ? picked : { ...picked, networkIds: [...new Set([...picked.networkIds, networkId])] };
}

/** How many webhooks there will be, and how many of them already exist. */
function Preview({ chosen: { networkIds, events }, existing }: { chosen: Chosen; existing: number }) {
  const count = networkIds.length * events.length;
  return (
    <p class="number" role="status">
      {countOf(networkIds.length, 'network')} × {countOf(events.length, 'event')} ={' '}
      <strong>{countOf(count, 'webhook')}</strong>
      {existing === 0 ? null : <span class="muted">, {existingText(existing, count)} already</span>}
    </p>
  );
}

function existingText(existing: number, count: number): string {
  if (existing < count) return `of which ${existing} ${existing === 1 ? 'exists' : 'exist'}`;
  return count === 1 ? 'which exists' : 'all of which exist';
}

function doneText(total: number, existed: number, postUrl: string): string {
  if (existed === 0) return `${countOf(total, 'webhook')} registered for ${postUrl}`;
  if (existed < total)
    return `${countOf(total - existed, 'webhook')} registered for ${postUrl}. ${existed} existed already.`;
  const which = total === 1 ? 'The webhook' : `All ${total} webhooks`;
  return `${which} for ${postUrl} existed already. Nothing has changed.`;
}

type UrlFieldProps = { value: string; onInput: (value: string) => void; error: string | null };

const HINT =
  'An absolute https URL on a public host. With ALLOW_INSECURE_TARGETS, the server also takes http URLs and private hosts. The URL is stored exactly as entered.';

/** Suggests the URLs already in use. */
function UrlField({ value, onInput, error }: UrlFieldProps) {
  const listId = useId();
  const registered = useResponse('urls', (signal) => paybell().webhooks.list({ limit: 100 }, { signal }));
  const urls = new Set(registered.data?.webhooks.map((webhook) => webhook.postUrl));
  return (
    <>
      <TextField
        label="Endpoint URL"
        error={error}
        hint={HINT}
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
  );
}
