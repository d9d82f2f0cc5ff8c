import { MAX_HEADERS } from '../../../domain/endpoints/request-headers.ts';

type HeaderFieldsProps = { names: readonly string[]; error: string | null };

/** Values are never returned, so a header can be removed, replaced or added, and not read. */
export function HeaderFields({ names, error }: HeaderFieldsProps) {
  return (
    <fieldset class="header-fields">
      <legend>Headers</legend>
      <p class="hint">
        Sent with every request, for example for a gateway. Values are stored encrypted and never shown. In names, _
        counts as -.
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
            name="headerValue"
            type="password"
            class="mono"
            placeholder="Value"
            aria-label="Header value"
            autocomplete="off"
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
