import type { ComponentChildren } from 'preact';
import { type Finality, MAX_CONFIRMATIONS, MIN_CONFIRMATIONS } from '../../../../domain/chain/finality.ts';

const CONFIRMATIONS = 'confirmations';
const FIRST_CONFIRMATIONS = 12;

type LevelControlProps = {
  /** Null, or the value of another option. */
  value: Finality | string | null;
  onChange: (value: Finality | string) => void;
  /** Attributes that connect the control to its label. */
  control: Readonly<Record<string, unknown>>;
  isDisabled?: boolean;
  /** Options before and after the levels. */
  before?: ComponentChildren;
  after?: ComponentChildren;
  /** Text after the words of a level. */
  markOf?: (level: Finality) => string;
};

/** Chooses a level of finality, with a second control for a number of confirmations. */
export function LevelControl({ value, onChange, control, isDisabled, before, after, markOf }: LevelControlProps) {
  const mark = markOf ?? (() => '');
  return (
    <div class="finality">
      <select
        {...control}
        disabled={isDisabled === true}
        value={typeof value === 'number' ? CONFIRMATIONS : (value ?? '')}
        onChange={({ currentTarget: { value: chosen } }) =>
          onChange(chosen === CONFIRMATIONS ? FIRST_CONFIRMATIONS : chosen)
        }
      >
        {before}
        <option value="seen">Seen: in a block{mark('seen')}</option>
        <option value={CONFIRMATIONS}>Confirmations</option>
        <option value="safe">Safe</option>
        <option value="final">Final: cannot be undone{mark('final')}</option>
        {after}
      </select>
      {typeof value === 'number' ? (
        <input
          type="number"
          class="number"
          aria-label="Number of confirmations"
          min={MIN_CONFIRMATIONS}
          max={MAX_CONFIRMATIONS}
          required
          value={value === 0 ? '' : value}
          onInput={(input) => onChange(Number(input.currentTarget.value))}
        />
      ) : null}
    </div>
  );
}
