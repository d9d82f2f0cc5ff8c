import { isPlainDecimal, parseDecimal } from '../payload-filter/decimal.ts';
import {
  type Finality,
  finalityOf,
  finalityText,
  isFinality,
  MAX_CONFIRMATIONS,
  MIN_CONFIRMATIONS,
} from './finality.ts';
import { amountKey, amountOfKey } from './payments.ts';
import { isDollar } from './tokens.ts';

/**
 * Finality by amount: a webhook gets small payments early and large payments late. The first rule whose amount the
 * payment does not exceed decides. Payments above all rules, in other tokens, and events without an amount get
 * `otherwise`. The amount of a payment never changes, so a payment has one finality for each webhook. The lists are not
 * `readonly`, because the client package declares lists of the API as mutable, and a test compares the two types.
 */
export type FinalityByAmount = { readonly rules: AmountRule[]; readonly otherwise: Finality };
export type AmountRule = {
  /** An exact decimal. A payment of exactly this amount is in the range. */
  readonly maxAmount: string;
  readonly tokens: RuleTokens[];
  readonly finality: Finality;
};

/** `usd` stands for the listed stablecoins of the dollar. Paybell has no prices of other tokens. */
export type RuleTokens = 'usd';

/** The finality of a webhook. */
export type WebhookFinality = Finality | FinalityByAmount;

export const MAX_AMOUNT_RULES = 5;
export const MAX_RULE_AMOUNT_LENGTH = 40;

/** `TransferFinalized` is published only when the transfer is final. */
export function allowsFinality(event: string, finality: WebhookFinality): boolean {
  return event !== 'TransferFinalized' || finality === 'final';
}

/** The stored text, which is the same for equal finalities, however they were written. */
export function webhookFinalityText(finality: WebhookFinality): string {
  if (typeof finality !== 'object') return finalityText(finality);
  const rules = finality.rules.map((rule) => {
    const { maxAmount, finality } = rule;
    return { maxAmount: amountOfKey(keyOf(maxAmount) ?? maxAmount), tokens: ['usd'], finality };
  });
  return JSON.stringify({ rules, otherwise: finality.otherwise });
}

/** Parses a text of `webhookFinalityText`. */
export function webhookFinalityOf(text: string): WebhookFinality {
  return text.startsWith('{') ? (JSON.parse(text) as FinalityByAmount) : finalityOf(text);
}

/** The finalities that payments can get, as one text: the same text for the same finalities. */
export function levelsText(finality: WebhookFinality): string {
  const levels = typeof finality === 'object' ? [...finality.rules.map(levelOfRule), finality.otherwise] : [finality];
  return [...new Set(levels.map(finalityText))].sort().join(SEPARATOR);
}

/** Parses a text of `levelsText`. */
export function levelsOf(text: string): readonly string[] {
  return text.split(SEPARATOR);
}

/** The most confirmations that a payment can need; 0 if it never needs a number of them. */
export function mostConfirmations(finality: WebhookFinality): number {
  const levels = levelsOf(levelsText(finality)).map(finalityOf);
  return Math.max(0, ...levels.filter((level) => typeof level === 'number'));
}

const SEPARATOR = ',';

function levelOfRule({ finality }: AmountRule): Finality {
  return finality;
}

/**
 * The amount that rules compare, as an `amountKey`; null if no rule is for the token. `expected` is the amount that the
 * payer owes in this token, if Paybell knows it. The larger of the two amounts counts, so that a payer who pays in
 * parts gains nothing.
 */
export function ruleAmount(
  networkId: number,
  { token, amount }: { readonly token: string | null; readonly amount: string | null },
  expected: string | null = null,
): string | null {
  if (token === null || amount === null || !isDollar(networkId, token)) return null;
  return expected !== null && expected > amount ? expected : amount;
}

/** The finality that a webhook with the stored text `finality` wants for a payment with this `ruleAmount`. */
export function finalityFor(finality: string, amount: string | null): string {
  if (!finality.startsWith('{')) return finality;
  const { rules, otherwise } = webhookFinalityOf(finality) as FinalityByAmount;
  return finalityText(ruleFor(rules, amount)?.finality ?? otherwise);
}

function ruleFor(rules: readonly AmountRule[], amount: string | null): AmountRule | undefined {
  return amount === null ? undefined : rules.find(({ maxAmount }) => amount <= (keyOf(maxAmount) ?? ''));
}

function keyOf(maxAmount: string): string | null {
  const decimal = parseDecimal(maxAmount);
  return decimal === null ? null : amountKey(decimal);
}

export type FinalityError = { readonly path: readonly (string | number)[]; readonly message: string };

const LEVEL = `"seen", "safe", "final" or a whole number of confirmations from ${MIN_CONFIRMATIONS} to ${MAX_CONFIRMATIONS}`;
const EXAMPLE = '{"rules": [{"maxAmount": "50", "tokens": ["usd"], "finality": "seen"}], "otherwise": "final"}';

/** All mistakes in the finality of a webhook. The value is anything that JSON can hold. */
export function finalityErrors(value: unknown): FinalityError[] {
  if (isFinality(value)) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ path: [], message: `must be ${LEVEL}, or rules by amount such as ${EXAMPLE}` }];
  }
  const { rules, otherwise, ...others } = value as Record<string, unknown>;
  return [
    ...unknownFields(others, 'give rules and otherwise'),
    ...ruleListErrors(rules).map(({ path, message }) => ({ path: ['rules', ...path], message })),
    ...(isFinality(otherwise) ? [] : [{ path: ['otherwise'], message: `must be ${LEVEL}` }]),
  ];
}

const MAX_NAME_SHOWN = 64;

function unknownFields(fields: object, fix: string): FinalityError[] {
  const names = Object.keys(fields).slice(0, 1);
  return names.map((name) => ({ path: [name.slice(0, MAX_NAME_SHOWN)], message: `is not a known field; ${fix}` }));
}

function ruleListErrors(rules: unknown): FinalityError[] {
  if (!Array.isArray(rules) || rules.length === 0 || rules.length > MAX_AMOUNT_RULES) {
    return [{ path: [], message: `must be a list of 1 to ${MAX_AMOUNT_RULES} rules, the smallest maxAmount first` }];
  }
  const errors = rules.flatMap((rule: unknown, place) =>
    ruleErrors(rule).map(({ path, message }) => ({ path: [place, ...path], message })),
  );
  if (errors.length > 0) return errors;
  const keys = (rules as AmountRule[]).map(({ maxAmount }) => keyOf(maxAmount) ?? '');
  const place = keys.findIndex((key, index) => index > 0 && key <= (keys[index - 1] ?? ''));
  return place === -1 ? [] : [{ path: [place, 'maxAmount'], message: 'must be more than the maxAmount before it' }];
}

function ruleErrors(rule: unknown): FinalityError[] {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
    return [{ path: [], message: 'must be an object with maxAmount, tokens and finality' }];
  }
  const { maxAmount, tokens, finality, ...others } = rule as Record<string, unknown>;
  const errors = unknownFields(others, 'give maxAmount, tokens and finality');
  if (!isMaxAmount(maxAmount)) {
    const digits = `at most ${MAX_RULE_AMOUNT_LENGTH} characters`;
    errors.push({
      path: ['maxAmount'],
      message: `must be a decimal above 0 as a string, such as "50", with ${digits}`,
    });
  }
  if (!Array.isArray(tokens) || tokens.length !== 1 || tokens[0] !== 'usd') {
    errors.push({
      path: ['tokens'],
      message: 'must be ["usd"], the listed dollar stablecoins: no other token has a known worth',
    });
  }
  if (!isFinality(finality)) errors.push({ path: ['finality'], message: `must be ${LEVEL}` });
  return errors;
}

function isMaxAmount(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > MAX_RULE_AMOUNT_LENGTH || !isPlainDecimal(value)) return false;
  return (parseDecimal(value)?.sign ?? 0) > 0;
}

/** For people: `seen up to 50 USD, 12 confirmations up to 500 USD, otherwise final`. */
export function describeFinality(finality: WebhookFinality): string {
  if (typeof finality !== 'object') return describeLevel(finality);
  const rules = finality.rules.map((rule) => `${describeLevel(rule.finality)} up to ${rule.maxAmount} USD`);
  return [...rules, `otherwise ${describeLevel(finality.otherwise)}`].join(', ');
}

function describeLevel(finality: Finality): string {
  return typeof finality === 'number' ? `${finality} confirmations` : finality;
}

/** Why a webhook with rules wants this finality for a payment; null without rules. */
export function reasonOfLevel(finality: string, amount: string | null): string | null {
  if (!finality.startsWith('{')) return null;
  const { rules } = webhookFinalityOf(finality) as FinalityByAmount;
  const rule = ruleFor(rules, amount);
  if (rule !== undefined) return `for payments of up to ${rule.maxAmount} USD`;
  return amount === null
    ? 'for payments without a known amount in US dollars'
    : `for payments of more than ${rules.at(-1)?.maxAmount} USD`;
}
