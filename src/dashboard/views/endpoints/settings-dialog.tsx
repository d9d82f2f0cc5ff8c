import type { Endpoint, EndpointUpdate } from '../../../client/endpoints.ts';
import { MAX_HEADERS } from '../../../domain/endpoints/request-headers.ts';
import { type ApiProblem, inputError, paybell } from '../../api.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { SelectField, TextField } from '../../components/inputs.tsx';
import { showToast } from '../../components/toasts.tsx';
import { UrlText } from '../../components/values/url.tsx';
import { updateOf } from './settings-form.ts';

type DialogProps = { endpoint: Endpoint; onSaved: () => Promise<void>; onClose: () => void };

const FIELDS = ['name', 'ordering', 'rateLimit', 'headers', 'secret'];

/** The settings of an endpoint. Only the fields that changed are sent. */
export function SettingsDialog({ endpoint, onSaved, onClose }: DialogProps) {
  const save = async (update: EndpointUpdate) => {
    if (Object.keys(update).length === 0) return onClose();
    await paybell().endpoints.update(endpoint.endpointId, update);
    showToast({ tone: 'good', text: 'Endpoint updated.' });
    await onSaved();
    onClose();
  };

  return (
    <FormDialog
      title="Endpoint settings"
      submit={{ label: 'Save', busy: 'Saving…' }}
      onSubmit={(form) => save(updateOf(endpoint, form))}
      onClose={onClose}
      fields={FIELDS}
    >
      {(problem) => (
        <>
          <p class="endpoint-url">
            <UrlText url={endpoint.postUrl} />
          </p>
          <Fields endpoint={endpoint} problem={problem} />
        </>
      )}
    </FormDialog>
  );
}

const ORDERINGS = [
  ['none', 'None: send at once'],
  ['agreement', 'By agreement'],
] as const;
const SECRETS = [
  ['entity', 'Secrets of the entity'],
  ['own', 'Its own secret'],
] as const;

function Fields({ endpoint, problem }: { endpoint: Endpoint; problem: ApiProblem | null }) {
  const { name, ordering, rateLimit, secret, headerNames } = endpoint;
  return (
    <>
      <TextField label="Name" error={inputError(problem, 'name')} name="name" defaultValue={name ?? ''} />
      <SelectField
        label="Ordering"
        error={inputError(problem, 'ordering')}
        hint="By agreement, an event is sent after the previous event of the same agreement is completed."
        name="ordering"
        value={ordering}
        options={ORDERINGS}
      />
      <TextField
        label="Rate limit"
        error={inputError(problem, 'rateLimit')}
        hint="Requests per second. Empty for no limit."
        name="rateLimit"
        inputmode="numeric"
        defaultValue={rateLimit ?? ''}
      />
      <SelectField
        label="Signing secret"
        error={inputError(problem, 'secret')}
        hint="After a change, the old and the new secret both sign requests for 24 hours."
        name="secret"
        value={secret}
        options={SECRETS}
      />
      <HeaderFields names={headerNames} error={inputError(problem, 'headers')} />
    </>
  );
}

/** The server never returns values, so people can add, replace or remove a header, but not read it. */
function HeaderFields({ names, error }: { names: readonly string[]; error: string | null }) {
  return (
    <fieldset class="header-fields">
      <legend>Headers</legend>
      <p class="hint">
        Sent with every request, for example for a gateway. Values are stored encrypted and never shown. In names, _ and
        - are the same.
      </p>
      {names.map((name) => (
        <div key={name} class="header-field">
          <code class="cut">{name}</code>
          <label class="check small">
            <input type="checkbox" name="removedHeader" value={name} aria-label={`Remove the header ${name}`} />
            Remove
          </label>
        </div>
      ))}
      {names.length >= MAX_HEADERS ? null : (
        <div class="new-header">
          <input name="headerName" type="text" class="mono" placeholder="Add or replace" aria-label="Header name" />
          <input
            {...{ name: 'headerValue', type: 'password', class: 'mono', placeholder: 'Value', autocomplete: 'off' }}
            aria-label="Header value"
          />
        </div>
      )}
      {error === null ? null : (
        <p class="hint error-text" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
