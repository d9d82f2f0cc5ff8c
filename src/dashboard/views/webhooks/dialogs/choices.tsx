type Option<Value> = { readonly value: Value; readonly label: string; readonly note?: string };

type ChoicesProps<Value> = {
  legend: string;
  options: readonly Option<Value>[];
  chosen: readonly Value[];
  onChange: (chosen: readonly Value[]) => void;
};

/** Checkboxes with a button that selects or clears all of them. */
export function Choices<Value extends string | number>({ legend, options, chosen, onChange }: ChoicesProps<Value>) {
  const all = chosen.length === options.length;
  const toggle = (value: Value, checked: boolean) =>
    onChange(
      options.map((option) => option.value).filter((other) => (other === value ? checked : chosen.includes(other))),
    );
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      <button
        type="button"
        class="button button-small"
        onClick={() => onChange(all ? [] : options.map((option) => option.value))}
      >
        {all ? 'Clear all' : 'Select all'}
        <span class="visually-hidden"> {legend.toLowerCase()}</span>
      </button>
      <div class="choice-list">
        {options.map(({ value, label, note }) => (
          <label key={value} class="choice">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={(event) => toggle(value, event.currentTarget.checked)}
            />
            <span>{label}</span>
            {note === undefined ? null : <span class="muted number small">{note}</span>}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
