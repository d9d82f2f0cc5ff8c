import { Moment } from '../../../components/values/time.tsx';
import { changeQuery } from '../../../router.tsx';
import { rangeStart, TIME_RANGES } from './time-range.ts';

type PresetsProps = {
  range: string | null;
  since: string | undefined;
  until: string | undefined;
  label?: string;
};

const NO_TIME = { range: null, since: null, until: null, page: null };

/** The usual time ranges, and a custom one that starts with the last day. */
export function TimePresets({ range, since, until, label = 'Accepted' }: PresetsProps) {
  const custom = range === null && (since !== undefined || until !== undefined);
  const chooseCustom = () =>
    changeQuery({ ...NO_TIME, since: since ?? rangeStart('1d', Date.now()), ...(custom && { until }) });
  return (
    <div class="field time-field">
      <span class="field-label">
        {label}{' '}
        {range === null || since === undefined ? null : (
          <span class="muted small">
            since <Moment seconds={Number(since)} />
          </span>
        )}
      </span>
      <fieldset class="segments time-presets">
        <legend class="visually-hidden">{label} within</legend>
        <Preset label="Any time" chosen={range === null && !custom} choose={() => changeQuery(NO_TIME)} />
        {TIME_RANGES.map(({ name, label }) => (
          <Preset
            key={name}
            label={label}
            chosen={range === name}
            choose={() => changeQuery({ ...NO_TIME, range: name })}
          />
        ))}
        <Preset label="Custom" chosen={custom} choose={chooseCustom} />
      </fieldset>
    </div>
  );
}

function Preset({ label, chosen, choose }: { label: string; chosen: boolean; choose: () => void }) {
  return (
    <button type="button" aria-pressed={chosen} onClick={choose}>
      {label}
    </button>
  );
}
