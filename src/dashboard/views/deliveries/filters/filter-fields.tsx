import { EVENT_KINDS } from '../../../../domain/event-kinds.ts';
import { DEFAULT_NETWORKS } from '../../../../domain/networks.ts';
import { type ApiProblem, faultOf, paybell } from '../../../api.ts';
import { Field } from '../../../components/field.tsx';
import { NetworkOptions } from '../../../components/values/network.tsx';
import { useResponse } from '../../../use-response.ts';
import { fromLocal, toLocal } from './local-date.ts';

/** The filters of the API under its own names, as text, the way an address carries them. */
export const FILTER_NAMES = ['status', 'event', 'networkId', 'webhookId', 'eventId', 'since', 'until'] as const;
export type FilterName = (typeof FILTER_NAMES)[number];
export type FilterValues = Readonly<Partial<Record<FilterName, string>>>;

type FieldsProps = {
  values: FilterValues;
  onChange: (name: FilterName, value: string) => void;
  problem: ApiProblem | null;
};

/** Every filter but the status, which each place shows in its own way. */
export function FilterFields({ values, onChange, problem }: FieldsProps) {
  const networkId = values.networkId ?? '';
  const networks = useNetworks();
  return (
    <>
      <Field label="Event" fault={faultOf(problem, 'event')}>
        {(control) => (
          <select
            {...control}
            value={values.event ?? ''}
            onChange={(event) => onChange('event', event.currentTarget.value)}
          >
            <option value="">All events</option>
            {EVENT_KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Network" fault={faultOf(problem, 'networkId')}>
        {(control) => (
          <select {...control} value={networkId} onChange={(event) => onChange('networkId', event.currentTarget.value)}>
            <option value="">All networks</option>
            <NetworkOptions networks={networks} chosen={networkId} />
          </select>
        )}
      </Field>
      <IdField label="Webhook id" name="webhookId" start="wh_" {...{ values, onChange }} />
      <IdField label="Event id" name="eventId" start="evt_" {...{ values, onChange }} />
      <MomentField label="From" name="since" {...{ values, onChange, problem }} />
      <MomentField label="Until" name="until" {...{ values, onChange, problem }} />
    </>
  );
}

/** Those that the server knows; to a key that may not see webhooks, those that it knows unless it was told otherwise. */
function useNetworks(): readonly number[] {
  const { data } = useResponse('networks', (signal) => paybell().webhooks.coverage({ signal }));
  return data?.networks.map(({ networkId }) => networkId) ?? DEFAULT_NETWORKS;
}

type IdFieldProps = Omit<FieldsProps, 'problem'> & { label: string; name: FilterName; start: string };

function IdField({ label, name, start, values, onChange }: IdFieldProps) {
  return (
    <Field label={label}>
      {(control) => (
        <input
          {...control}
          type="search"
          class="mono"
          placeholder={`${start}…`}
          spellcheck={false}
          value={values[name] ?? ''}
          onChange={(event) => onChange(name, event.currentTarget.value.trim())}
        />
      )}
    </Field>
  );
}

function MomentField({ label, name, values, onChange, problem }: FieldsProps & { label: string; name: FilterName }) {
  return (
    <Field label={label} fault={faultOf(problem, name)}>
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
