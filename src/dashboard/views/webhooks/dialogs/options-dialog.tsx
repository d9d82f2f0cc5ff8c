import { useEffect, useRef, useState } from 'preact/hooks';
import type { Webhook, WebhookOptions } from '../../../../client/webhooks.ts';
import type { Finality } from '../../../../domain/chain/finality.ts';
import { type ApiProblem, asProblem, inputError, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Curl } from '../../../components/values/copy.tsx';
import { Network } from '../../../components/values/network.tsx';
import { Failure, Loading, ProblemAlert } from '../../../components/view/states.tsx';
import { useResponse } from '../../../use-response.ts';
import { bumpWebhooksRevision } from '../revision.ts';
import { filterText, parseFilterText, wordsOf } from './filter-text.ts';
import { FinalityField } from './finality-field.tsx';

type DialogProps = { webhook: Webhook; onClose: () => void };

/** Shows the finality of a webhook, and its payload filter in words, and changes them. */
export function OptionsDialog({ webhook, onClose }: DialogProps) {
  const { webhookId } = webhook;
  const { data, problem, reload } = useResponse(webhookId, (signal) =>
    paybell().webhooks.options(webhookId, { signal }),
  );
  return (
    <Dialog title="Options" onClose={onClose}>
      {data !== null ? (
        <OptionsForm webhook={webhook} options={data} onClose={onClose} />
      ) : (
        <div class="dialog-body">
          {problem === null ? <Loading what="options" /> : <Failure problem={problem} reload={reload} />}
        </div>
      )}
    </Dialog>
  );
}

const EXAMPLE = '{\n  "amount": { "min": "100" },\n  "token": ["USDC", "DAI"]\n}';

function OptionsForm({ webhook, options, onClose }: DialogProps & { options: WebhookOptions }) {
  const [finality, setFinality] = useState<Finality | null>(options.finality);
  const [text, setText] = useState(filterText(options.filter));
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const filter = parseFilterText(text);

  const save = async (replacement: unknown) => {
    setBusy(true);
    try {
      // Unchecked: the server reports what is wrong with it.
      await paybell().webhooks.replaceOptions(webhook.webhookId, { finality, filter: replacement } as WebhookOptions);
      showToast({ tone: 'good', text: 'Options saved. They apply to events that are accepted from now on.' });
      bumpWebhooksRevision();
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };

  const ofFilter = problem?.errors.filter(({ name }) => name !== 'finality') ?? [];
  const errors = filter === undefined ? [{ name: 'filter', message: 'is not valid JSON' }] : ofFilter;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (filter !== undefined) void save(filter);
      }}
    >
      <div class="dialog-body">
        {problem !== null && problem.errors.length === 0 ? <ProblemAlert problem={problem} /> : null}
        <p>
          <strong>{webhook.event}</strong> on <Network networkId={webhook.networkId} />
        </p>
        <FinalityField
          value={finality}
          onChange={setFinality}
          error={inputError(problem, 'finality')}
          event={webhook.event}
        />
        <Words filter={filter} />
        <Field
          label="Filter as JSON"
          error={errors.length === 0 ? null : <FilterErrors errors={errors} />}
          hint="For each field of the payload, a list of values or a range with min, max or both. Empty for no filter."
        >
          {(control) => (
            <textarea
              {...control}
              ref={area}
              class="mono"
              rows={9}
              spellcheck={false}
              placeholder={EXAMPLE}
              value={text}
              onInput={(event) => {
                setText(event.currentTarget.value);
                setProblem(null);
              }}
            />
          )}
        </Field>
        <details>
          <summary>Equivalent API request</summary>
          <Curl
            method="PUT"
            path={`/webhooks/classic/${webhook.webhookId}/options`}
            body={{ finality, filter: filter ?? null }}
          />
        </details>
      </div>
      <footer class="dialog-foot">
        {options.filter === null ? null : (
          <button type="button" class="button dialog-foot-first" disabled={busy} onClick={() => void save(null)}>
            Remove filter
          </button>
        )}
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button button-primary" disabled={busy || filter === undefined}>
          {busy ? 'Saving…' : 'Save'}
        </button>
      </footer>
    </form>
  );
}

/** What the filter in the form means, while it is typed. */
function Words({ filter }: { filter: unknown }) {
  const words = wordsOf(filter);
  return (
    <div class="filter-words" role="status">
      {words === null ? (
        <p class="muted">This is not a valid filter yet.</p>
      ) : words.length === 0 ? (
        <p>Receives these events with any payload.</p>
      ) : (
        <>
          <p>Receives only events where:</p>
          <ul>
            {words.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** Each with the field of the filter that it is about. */
function FilterErrors({ errors }: { errors: readonly { name: string; message: string }[] }) {
  return (
    <>
      {errors.map(({ name, message }) => {
        const field = name.replace(/^filter\.?/, '');
        return (
          <span key={name} class="error-line">
            {field === '' ? 'The filter' : <code>{field}</code>} {message}
          </span>
        );
      })}
    </>
  );
}
