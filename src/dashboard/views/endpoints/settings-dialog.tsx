import type { Endpoint, EndpointUpdate } from '../../../client/endpoints.ts';
import { type ApiProblem, inputError, paybell } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { showToast } from '../../components/toasts.tsx';
import { UrlText } from '../../components/values/url.tsx';
import { HeaderFields } from './header-fields.tsx';
import { updateOf } from './settings-form.ts';

type DialogProps = { endpoint: Endpoint; onSaved: () => Promise<void>; onClose: () => void };

const FIELDS = ['name', 'ordering', 'rateLimit', 'headers', 'secret'];

/** What an endpoint is given. Only the fields that changed are sent. */
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

function Fields({ endpoint, problem }: { endpoint: Endpoint; problem: ApiProblem | null }) {
  return (
    <>
      <Field label="Name" error={inputError(problem, 'name')}>
        {(control) => <input {...control} name="name" type="text" defaultValue={endpoint.name ?? ''} />}
      </Field>
      <Field
        label="Ordering"
        error={inputError(problem, 'ordering')}
        hint="By agreement, an event is sent when the one before it of the same agreement is complete."
      >
        {(control) => (
          <select {...control} name="ordering">
            <option value="none" selected={endpoint.ordering === 'none'}>
              None: send at once
            </option>
            <option value="agreement" selected={endpoint.ordering === 'agreement'}>
              By agreement
            </option>
          </select>
        )}
      </Field>
      <Field
        label="Rate limit"
        error={inputError(problem, 'rateLimit')}
        hint="Requests per second. Empty for no limit."
      >
        {(control) => (
          <input
            {...control}
            name="rateLimit"
            type="text"
            inputmode="numeric"
            defaultValue={endpoint.rateLimit ?? ''}
          />
        )}
      </Field>
      <Field
        label="Signing secret"
        error={inputError(problem, 'secret')}
        hint="After a change, requests are signed with both for 24 hours."
      >
        {(control) => (
          <select {...control} name="secret">
            <option value="entity" selected={endpoint.secret === 'entity'}>
              Secrets of the entity
            </option>
            <option value="own" selected={endpoint.secret === 'own'}>
              Its own secret
            </option>
          </select>
        )}
      </Field>
      <HeaderFields names={endpoint.headerNames} error={inputError(problem, 'headers')} />
    </>
  );
}
