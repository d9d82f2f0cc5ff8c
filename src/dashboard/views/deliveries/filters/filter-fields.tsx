import { EVENT_KINDS, RETRACTION } from '../../../../domain/event-kinds.ts';
import { DEFAULT_NETWORKS } from '../../../../domain/networks.ts';
import { type ApiProblem, inputError, paybell } from '../../../api.ts';
import { Field } from '../../../components/field.tsx';
import { NetworkOptions } from '../../../components/values/network.tsx';
import { useResponse } from '../../../use-response.ts';
import { fromLocal, toLocal } from './local-date.ts';

/** The filters of the list operation under their API names, as text, the way the URL holds them. */
export const FILTER_NAMES = ['status', 'event', 'networkId', 'webhookId', 'eventId', 'since', 'until'] as const;
export type FilterName = (typeof FILTER_NAMES)[number];
export type FilterValues = Readonly<Partial<Record<FilterName, string>>>;

type FieldsProps = {
  values: FilterValues;
  onChange: (name: FilterName, value: string) => void;
  problem: ApiProblem | null;
};

/** All filters except the status, for which the list has tabs and the dialog a select. */
export function FilterFields({ values, onChange, problem }: FieldsProps) {
  const networkId = values.networkId ?? '';
  const { networks, events } = useKnown();
  return (
    <>
      <Field label="Event" error={inputError(problem, 'event')}>
        {(control) => (
          <select
            {...control}
            value={values.event ?? ''}
            onChange={(event) => onChange('event', event.currentTarget.value)}
          >
            <option value="">All events</option>
            {[...events, RETRACTION].map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Network" error={inputError(problem, 'networkId')}>
        {(control) => (
          <select {...control} value={networkId} onChange={(event) => onChange('networkId', event.currentTarget.value)}>
            <option value="">All networks</option>
            <NetworkOptions networks={networks} chosen={networkId} />
          </select>
        )}
      </Field>
      <IdField label="Webhook ID" name="webhookId" prefix="wh_" {...{ values, onChange }} />
      <IdField label="Event ID" name="eventId" prefix="evt_" {...{ values, onChange }} />
      <DateTimeField label="From" name="since" {...{ values, onChange, problem }} />
      <DateTimeField label="Until" name="until" {...{ values, onChange, problem }} />
    </>
  );
}

/** The networks and events that the server knows. Without the permission to read webhooks, the default ones. */
function useKnown(): { networks: readonly number[]; events: readonly string[] } {
  const { data } = useResponse('known', (signal) => paybell().webhooks.coverage({ signal }));
  if (data === null) return { networks: DEFAULT_NETWORKS, events: EVENT_KINDS };
  const events = data.networks.flatMap((network) => network.events.map(({ event }) => event));
  return { networks: data.networks.map(({ networkId }) => networkId), events: [...new Set(events)] };
}

type IdFieldProps = Omit<FieldsProps, 'problem'> & { label: string; name: FilterName; prefix: string };

function IdField({ label, name, prefix, values, onChange }: IdFieldProps) {
  return (
    <Field label={label}>
      {(control) => (
        <input
          {...control}
          type="search"
          class="mono"
          placeholder={`${prefix}…`}
          spellcheck={false}
          value={values[name] ?? ''}
          onChange={(event) => onChange(name, event.currentTarget.value.trim())}
        />
      )}
    </Field>
  );
}

function DateTimeField({ label, name, values, onChange, problem }: FieldsProps & { label: string; name: FilterName }) {
  return (
    <Field label={label} error={inputError(problem, name)}>
      {(control) => (
        <input
          {...control}
          type="datetime-local"
          step={1}
          value={toLocal(values[name])}
          onChange={(event) => onChange(name, fromLocal(event.currentTarget.value))}
        />
      )}
    </Field>
  );
}
