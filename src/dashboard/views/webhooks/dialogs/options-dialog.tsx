import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Webhook, WebhookOptions } from '../../../../client/webhooks.ts';
import type { WebhookFinality } from '../../../../domain/chain/finality-by-amount.ts';
import { type ApiProblem, inputError, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Network } from '../../../components/values/network.tsx';
import { ApiRequests } from '../../../components/view/api-requests.tsx';
import { Loaded } from '../../../components/view/loaded.tsx';
import { useResponse } from '../../../use-response.ts';
import { bumpWebhooksRevision } from '../revision.ts';
import { filterText, parseFilterText, wordsOf } from './filter-text.ts';
import { FinalityField } from './finality-field.tsx';

type DialogProps = { webhook: Webhook; onClose: () => void };

/** Shows and changes the finality of a webhook and its payload filter, which it also shows in words. */
export function OptionsDialog({ webhook, onClose }: DialogProps) {
  const { webhookId } = webhook;
  const response = useResponse(webhookId, (signal) => paybell().webhooks.options(webhookId, { signal }));
  if (response.data !== null) return <OptionsForm webhook={webhook} options={response.data} onClose={onClose} />;
  return (
    <Dialog title="Options" onClose={onClose}>
      <div class="dialog-body">
        <Loaded response={response} what="options">
          {() => null}
        </Loaded>
      </div>
    </Dialog>
  );
}

const EXAMPLE = '{\n  "amount": { "min": "100" },\n  "token": ["USDC", "DAI"]\n}';

function OptionsForm({ webhook, options, onClose }: DialogProps & { options: WebhookOptions }) {
  const [finality, setFinality] = useState<WebhookFinality | null>(options.finality);
  const [text, setText] = useState(filterText(options.filter));
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const filter = parseFilterText(text);

  const save = async (replacement: unknown) => {
    // Sent unchecked, because the server reports mistakes.
    await paybell().webhooks.replaceOptions(webhook.webhookId, { finality, filter: replacement } as WebhookOptions);
    showToast({ tone: 'good', text: 'Options saved. They apply to events that are accepted from now on.' });
    bumpWebhooksRevision();
    onClose();
  };

  return (
    <FormDialog
      title="Options"
      submit={{ label: 'Save', busy: 'Saving…', isDisabled: filter === undefined }}
      onSubmit={() => save(filter)}
      onClose={onClose}
      fields={['finality', 'filter']}
      said={text}
      other={options.filter === null ? null : { label: 'Remove filter', run: () => save(null) }}
    >
      {(problem) => (
        <>
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
          <FilterField {...{ area, text, setText, problem }} isJson={filter !== undefined} />
          <ApiRequests
            commands={[
              {
                method: 'PUT',
                path: `/webhooks/classic/${webhook.webhookId}/options`,
                body: { finality, filter: filter ?? null },
              },
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}

type FilterFieldProps = {
  area: RefObject<HTMLTextAreaElement | null>;
  text: string;
  setText: (text: string) => void;
  isJson: boolean;
  problem: ApiProblem | null;
};

function FilterField({ area, text, setText, isJson, problem }: FilterFieldProps) {
  const ofFilter = problem?.errors.filter(({ name }) => !/^finality(\.|$)/.test(name)) ?? [];
  const errors = isJson ? ofFilter : [{ name: 'filter', message: 'is not valid JSON' }];
  return (
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
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** The meaning of the filter in the form, while someone types it. */
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

/** Each error with its field of the filter. */
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
