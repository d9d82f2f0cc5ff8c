type Option<Value> = { readonly value: Value; readonly label: string; readonly note?: string };

type ChoicesProps<Value> = {
  legend: string;
  options: readonly Option<Value>[];
  chosen: readonly Value[];
  onChange: (chosen: readonly Value[]) => void;
};

/** Any number of several, with all of them at one press. */
export function Choices<Value extends string | number>({ legend, options, chosen, onChange }: ChoicesProps<Value>) {
  const all = chosen.length === options.length;
  const toggle = (value: Value, checked: boolean) =>
    onChange(options.map((option) => option.value).filter((one) => (one === value ? checked : chosen.includes(one))));
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      <button
        type="button"
        class="button button-small"
        onClick={() => onChange(all ? [] : options.map((option) => option.value))}
      >
        {all ? 'None' : `All ${options.length}`}
        <span class="visually-hidden"> {legend}</span>
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
