import { defaultFinality, type Finality } from '../../../../domain/chain/finality.ts';
import type { WebhookFinality } from '../../../../domain/chain/finality-by-amount.ts';
import { Field } from '../../../components/field.tsx';
import { AmountRules, FIRST_RULES } from './amount-rules.tsx';
import { LevelControl } from './level-control.tsx';

const BY_AMOUNT = 'by-amount';
const DEFAULT = '';

type FinalityFieldProps = {
  /** Null for the default of each event kind. */
  value: WebhookFinality | null;
  onChange: (value: WebhookFinality | null) => void;
  error: string | null;
  /** The event kind of the webhook; null if the form is for several webhooks. */
  event: string | null;
};

/** The confirmation that an event from a network needs before its delivery. */
export function FinalityField({ value, onChange, error, event }: FinalityFieldProps) {
  const isFixed = event === 'TransferFinalized';
  const isByAmount = typeof value === 'object' && value !== null;
  const choose = (chosen: Finality | string) => {
    if (chosen === BY_AMOUNT) onChange(FIRST_RULES);
    else onChange(chosen === DEFAULT ? null : (chosen as Finality));
  };
  return (
    <>
      <Field
        label="Finality"
        error={error}
        hint={isFixed ? 'TransferFinalized is always final.' : 'Confirmation required before delivery.'}
      >
        {(control) => (
          <LevelControl
            control={control}
            isDisabled={isFixed}
            value={isByAmount ? BY_AMOUNT : value}
            onChange={choose}
            before={event === null ? <option value={DEFAULT}>Default of each event</option> : null}
            after={<option value={BY_AMOUNT}>By amount: small payments early</option>}
            markOf={(level) => (event !== null && defaultFinality(event) === level ? ' (default)' : '')}
          />
        )}
      </Field>
      {isByAmount ? <AmountRules value={value} onChange={onChange} /> : null}
    </>
  );
}
