import { EVENT_KINDS, RETRACTION } from '../../../../domain/event-kinds.ts';
import { DEFAULT_NETWORKS } from '../../../../domain/networks.ts';
import { type ApiProblem, inputError, paybell } from '../../../api.ts';
import { EndedField } from '../../../components/inputs.tsx';
import { FilterSelect, FilterText } from '../../../components/lists/filters.tsx';
import type { Filtering } from '../../../components/lists/use-list.ts';
import { networkOptions } from '../../../components/values/network.tsx';
import { useResponse } from '../../../use-response.ts';
import { fromLocal, toLocal } from './local-date.ts';

const IDS = [
  { name: 'webhookId', label: 'Webhook ID', placeholder: 'wh_…' },
  { name: 'endpointId', label: 'Endpoint ID', placeholder: 'ep_…' },
  { name: 'eventId', label: 'Event ID', placeholder: 'evt_…' },
];
const ID_NAMES = IDS.map(({ name }) => name);

type FieldsProps = { of: Filtering; problem: ApiProblem | null; ids?: readonly string[]; dates?: boolean };

/** All filters except search and status, which have their own fields in the list and the dialog. */
export function FilterFields({ of, problem, ids = ID_NAMES, dates = true }: FieldsProps) {
  const { networks, events } = useKnown();
  const kinds = [...events, RETRACTION].map((kind) => [kind, kind] as const);
  const choices = networkOptions(networks, of.filters.networkId);
  return (
    <>
      <FilterSelect {...{ of, problem }} name="event" label="Event" all="All events" options={kinds} />
      <FilterSelect {...{ of, problem }} name="networkId" label="Network" all="All networks" options={choices} />
      {IDS.map((id) => (ids.includes(id.name) ? <FilterText key={id.name} of={of} {...id} /> : null))}
      {dates ? <DateFields of={of} problem={problem} /> : null}
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

const DATES = [
  { name: 'since', label: 'From' },
  { name: 'until', label: 'Until' },
];

export function DateFields({ of: { filters, change }, problem }: { of: Filtering; problem: ApiProblem | null }) {
  return DATES.map(({ name, label }) => (
    <EndedField
      key={name}
      label={label}
      error={inputError(problem, name)}
      type="datetime-local"
      step={1}
      value={toLocal(filters[name])}
      onEnd={(local) => change(name, fromLocal(local))}
    />
  ));
}
