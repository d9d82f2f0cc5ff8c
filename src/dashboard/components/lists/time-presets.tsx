import { changeQuery } from '../../router.tsx';
import { Moment } from '../values/time.tsx';
import { rangeStart, TIME_RANGES } from './time-range.ts';
import type { ListState } from './use-list.ts';

const NO_TIME = { range: null, since: null, until: null, page: null };

/** Whether the URL has custom dates, and not a range. */
export function hasOwnDates({ query }: ListState): boolean {
  return !query.has('range') && (query.has('since') || query.has('until'));
}

/** The usual time ranges, and a custom one that starts with the last day. */
export function TimePresets({ list, label = 'Accepted' }: { list: ListState; label?: string }) {
  const { since, until } = list.filters;
  const range = list.query.get('range');
  const custom = hasOwnDates(list);
  const presets = [
    { text: 'Any time', isChosen: range === null && !custom, values: NO_TIME },
    ...TIME_RANGES.map(({ name, text }) => ({ text, isChosen: range === name, values: { ...NO_TIME, range: name } })),
    {
      text: 'Custom',
      isChosen: custom,
      values: { ...NO_TIME, since: since ?? rangeStart('1d', Date.now()), ...(custom && { until }) },
    },
  ];
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
        {presets.map(({ text, isChosen, values }) => (
          <button key={text} type="button" aria-pressed={isChosen} onClick={() => changeQuery(values)}>
            {text}
          </button>
        ))}
      </fieldset>
    </div>
  );
}
