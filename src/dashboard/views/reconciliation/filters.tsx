import { MAX_LIMIT } from '../../../contract/list-query.ts';
import { type ApiProblem, inputError, paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { SelectField, TextField } from '../../components/inputs.tsx';
import { networkOptions } from '../../components/values/network.tsx';
import { changeQuery } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { useKnown } from '../deliveries/filters/filter-fields.tsx';
import { dayAfter, dayOf } from './days.ts';

type FiltersProps = { day: string; networkId: string; endpointId: string; problem: ApiProblem | null };

export function Filters({ day, networkId, endpointId, problem }: FiltersProps) {
  const { networks } = useKnown();
  const today = dayOf(Date.now());
  const go = (days: number) => changeQuery({ day: dayAfter(day, days) });
  return (
    <search class="filters day-filters">
      <button type="button" class="button button-icon day-step" aria-label="Previous day" onClick={() => go(-1)}>
        <Icon name="left" />
      </button>
      <TextField
        label="Day (UTC)"
        error={inputError(problem, 'day')}
        type="date"
        max={today}
        value={day}
        onChange={({ currentTarget: { value } }) => (value === '' ? undefined : changeQuery({ day: value }))}
      />
      <button
        type="button"
        class="button button-icon day-step"
        aria-label="Next day"
        disabled={day >= today}
        onClick={() => go(1)}
      >
        <Icon name="right" />
      </button>
      <SelectField
        label="Network"
        error={inputError(problem, 'networkId')}
        value={networkId}
        options={[['', 'All networks'], ...networkOptions(networks, networkId)]}
        onChoose={(chosen) => changeQuery({ networkId: chosen })}
      />
      <EndpointField endpointId={endpointId} error={inputError(problem, 'endpointId')} />
    </search>
  );
}

/** The endpoints by URL. A chosen endpoint that is not among them, such as a removed one, stays chosen by its id. */
function EndpointField({ endpointId, error }: { endpointId: string; error: string | null }) {
  const { data } = useResponse('endpoints', (signal) =>
    paybell().endpoints.list({ sortBy: 'postUrl', sortDir: 'asc', limit: MAX_LIMIT }, { signal }),
  );
  const endpoints = data?.endpoints ?? [];
  const isListed = endpoints.some((endpoint) => endpoint.endpointId === endpointId);
  const isCut = data !== null && data.totalResults > endpoints.length;
  const names = endpoints.map(({ endpointId: id, name, postUrl }) => {
    return [id, name === null ? postUrl : `${name} (${postUrl})`] as const;
  });
  const unlisted = endpointId === '' || isListed ? [] : [[endpointId, endpointId] as const];
  return (
    <SelectField
      label="Endpoint"
      field="endpoint-field"
      error={error}
      hint={isCut ? `The first ${endpoints.length} by URL. Other endpoints have a link on their page.` : null}
      value={endpointId}
      options={[['', 'All endpoints'], ...unlisted, ...names]}
      onChoose={(chosen) => changeQuery({ endpointId: chosen })}
    />
  );
}
