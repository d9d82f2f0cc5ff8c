import {
  defaultFinality,
  type Finality,
  MAX_CONFIRMATIONS,
  MIN_CONFIRMATIONS,
} from '../../../../domain/chain/finality.ts';
import { Field } from '../../../components/field.tsx';

const CONFIRMATIONS = 'confirmations';
const FIRST_CONFIRMATIONS = 12;

type FinalityFieldProps = {
  /** Null for the default of each event kind. */
  value: Finality | null;
  onChange: (value: Finality | null) => void;
  error: string | null;
  /** The kind of the one webhook that it is about; null where there may be several. */
  event: string | null;
};

/** How sure an event from a network has to be before it is delivered. */
export function FinalityField({ value, onChange, error, event }: FinalityFieldProps) {
  const isFixed = event === 'TransferFinalized';
  const choose = (chosen: string) => {
    if (chosen === CONFIRMATIONS) onChange(FIRST_CONFIRMATIONS);
    else onChange(chosen === 'seen' || chosen === 'safe' || chosen === 'final' ? chosen : null);
  };
  return (
    <Field
      label="Finality"
      error={error}
      hint={
        isFixed
          ? 'TransferFinalized is always final.'
          : 'How sure an event from a network has to be before it is delivered.'
      }
    >
      {(control) => (
        <div class="finality">
          <select
            {...control}
            disabled={isFixed}
            value={typeof value === 'number' ? CONFIRMATIONS : (value ?? '')}
            onChange={(change) => choose(change.currentTarget.value)}
          >
            {event === null ? <option value="">Default of each event</option> : null}
            <option value="seen">Seen: in a block{defaultMark(event, 'seen')}</option>
            <option value={CONFIRMATIONS}>Confirmations</option>
            <option value="safe">Safe</option>
            <option value="final">Final: cannot be undone{defaultMark(event, 'final')}</option>
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
      )}
    </Field>
  );
}

function defaultMark(event: string | null, finality: Finality): string {
  return event !== null && defaultFinality(event) === finality ? ' (default)' : '';
}
