import type { Finality } from '../../../../domain/chain/finality.ts';
import {
  type AmountRule,
  type FinalityByAmount,
  MAX_AMOUNT_RULES,
  MAX_RULE_AMOUNT_LENGTH,
} from '../../../../domain/chain/finality-by-amount.ts';
import { LevelControl } from './level-control.tsx';

/** The initial rules of a form. */
export const FIRST_RULES: FinalityByAmount = {
  rules: [{ maxAmount: '50', tokens: ['usd'], finality: 'seen' }],
  otherwise: 'final',
};

type AmountRulesProps = { value: FinalityByAmount; onChange: (value: FinalityByAmount) => void };

/** Rules by amount, the smallest amount first, and the finality of all other payments. */
export function AmountRules({ value, onChange }: AmountRulesProps) {
  const { rules, otherwise } = value;
  const change = (changed: AmountRule[]) => onChange({ rules: changed, otherwise });
  return (
    <fieldset class="amount-rules">
      <legend class="small">Amounts in US dollars, paid in listed stablecoins</legend>
      {rules.map((rule, place) => (
        <div key={place} class="amount-rule">
          <label>
            <span>Up to</span>
            <input
              type="text"
              inputmode="decimal"
              class="number"
              required
              maxLength={MAX_RULE_AMOUNT_LENGTH}
              aria-label={`Amount of rule ${place + 1} in US dollars`}
              value={rule.maxAmount}
              onInput={({ currentTarget }) => change(rules.with(place, { ...rule, maxAmount: currentTarget.value }))}
            />
          </label>
          <LevelControl
            control={{ 'aria-label': `Finality of rule ${place + 1}` }}
            value={rule.finality}
            onChange={(finality) => change(rules.with(place, { ...rule, finality: finality as Finality }))}
          />
          <button
            type="button"
            class="button button-small"
            disabled={rules.length === 1}
            aria-label={`Remove rule ${place + 1}`}
            onClick={() => change(rules.toSpliced(place, 1))}
          >
            Remove
          </button>
        </div>
      ))}
      <div class="amount-rule">
        <span>Otherwise</span>
        <LevelControl
          control={{ 'aria-label': 'Finality of all other payments' }}
          value={otherwise}
          onChange={(finality) => onChange({ rules, otherwise: finality as Finality })}
        />
      </div>
      {rules.length < MAX_AMOUNT_RULES ? (
        <button
          type="button"
          class="button button-small"
          onClick={() => change([...rules, { maxAmount: '', tokens: ['usd'], finality: 'safe' }])}
        >
          Add a rule
        </button>
      ) : null}
    </fieldset>
  );
}
