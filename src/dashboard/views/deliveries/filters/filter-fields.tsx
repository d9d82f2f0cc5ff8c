import { EVENT_KINDS, RETRACTION } from '../../../../domain/event-kinds.ts';
import { DEFAULT_NETWORKS } from '../../../../domain/networks.ts';
import { type ApiProblem, inputError, paybell } from '../../../api.ts';
import { Field } from '../../../components/field.tsx';
import { NetworkOptions } from '../../../components/values/network.tsx';
import { useResponse } from '../../../use-response.ts';
import { fromLocal, toLocal } from './local-date.ts';

/** The filters of the list operation under their API names, as text, the way the URL holds them. */
export const FILTER_NAMES = [
  'status',
  'q',
  'event',
  'networkId',
  'webhookId',
  'endpointId',
  'eventId',
  'since',
  'until',
] as const;
export type FilterName = (typeof FILTER_NAMES)[number];
export type FilterValues = Readonly<Partial<Record<FilterName, string>>>;

type FieldsProps = {
  values: FilterValues;
  onChange: (name: FilterName, value: string) => void;
  problem: ApiProblem | null;
};

type SomeFieldsProps = FieldsProps & { ids?: readonly IdName[]; dates?: boolean };

type IdName = 'webhookId' | 'endpointId' | 'eventId';
const IDS: Readonly<Record<IdName, { readonly label: string; readonly prefix: string }>> = {
  webhookId: { label: 'Webhook ID', prefix: 'wh_' },
  endpointId: { label: 'Endpoint ID', prefix: 'ep_' },
  eventId: { label: 'Event ID', prefix: 'evt_' },
};
const ID_NAMES = Object.keys(IDS) as IdName[];

/** All filters except search and status, for which the list and the dialog have fields of their own. */
export function FilterFields({ values, onChange, problem, ids = ID_NAMES, dates = true }: SomeFieldsProps) {
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
      {ids.map((name) => (
        <IdField key={name} name={name} {...IDS[name]} {...{ values, onChange }} />
      ))}
      {dates ? (
        <>
          <DateTimeField label="From" name="since" {...{ values, onChange, problem }} />
          <DateTimeField label="Until" name="until" {...{ values, onChange, problem }} />
        </>
      ) : null}
    </>
  );
}

/** The networks and events that the server knows. Without the permission to read webhooks, the default ones. */
export function useKnown(): { networks: readonly number[]; events: readonly string[] } {
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

export function DateTimeField({
  label,
  name,
  values,
  onChange,
  problem,
}: FieldsProps & { label: string; name: FilterName }) {
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
