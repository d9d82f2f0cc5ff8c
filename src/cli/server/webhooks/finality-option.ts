import { type Command, InvalidArgumentError } from 'commander';
import { type Finality, isFinality, MAX_CONFIRMATIONS, MIN_CONFIRMATIONS } from '../../../domain/chain/finality.ts';
import {
  type AmountRule,
  describeFinality,
  finalityErrors,
  type WebhookFinality,
} from '../../../domain/chain/finality-by-amount.ts';

/** The finality of a webhook as an option. */

const DEFAULT = 'default';

export type FinalityOption = { finality?: WebhookFinality | typeof DEFAULT };

/** Null for the default of the event kind, and undefined if the option is absent. */
export function readFinality(finality: FinalityOption['finality']): WebhookFinality | null | undefined {
  return finality === DEFAULT ? null : finality;
}

export function addFinalityOption(command: Command): Command {
  return command.option(
    '--finality <level>',
    'confirmation that an event from a network needs: seen, safe, final, a number of confirmations, or default; by amount in ' +
      'US dollars: seen:50,final is seen up to 50 dollars and otherwise final',
    parseFinality,
  );
}

function parseFinality(text: string): WebhookFinality | typeof DEFAULT {
  if (text === DEFAULT) return text;
  return text.includes(':') || text.includes(',') ? parseByAmount(text) : parseLevel(text);
}

function parseLevel(text: string): Finality {
  const level = /^[0-9]{1,4}$/.test(text) ? Number(text) : text;
  if (isFinality(level)) return level;
  throw new InvalidArgumentError(
    `Give seen, safe, final, default, or a number of confirmations from ${MIN_CONFIRMATIONS} to ${MAX_CONFIRMATIONS}.`,
  );
}

const FORM =
  'Give the smallest amount first and the finality of all other payments last, such as seen:50,12:500,final.';

function parseByAmount(text: string): WebhookFinality {
  const parts = text.split(',').map((part) => part.trim());
  const otherwise = parseLevel(parts.at(-1) ?? '');
  const rules = parts.slice(0, -1).map((part): AmountRule => {
    const [level = '', maxAmount, ...others] = part.split(':');
    if (maxAmount === undefined || others.length > 0) throw new InvalidArgumentError(FORM);
    return { maxAmount, tokens: ['usd'], finality: parseLevel(level) };
  });
  const finality = { rules, otherwise };
  const [error] = finalityErrors(finality);
  if (error !== undefined) throw new InvalidArgumentError(`${error.path.join('.')} ${error.message}. ${FORM}`);
  return finality;
}

export function showFinality(finality: WebhookFinality): string {
  return describeFinality(finality);
}
