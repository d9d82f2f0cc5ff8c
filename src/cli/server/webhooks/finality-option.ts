import { type Command, InvalidArgumentError } from 'commander';
import { type Finality, MAX_CONFIRMATIONS, MIN_CONFIRMATIONS } from '../../../domain/chain/finality.ts';
import { showCount } from '../../../domain/errors.ts';

/** The finality of a webhook as an option. */

const DEFAULT = 'default';

export type FinalityOption = { finality?: Finality | typeof DEFAULT };

/** Null for the default of the event kind, and undefined where the option is not given. */
export function readFinality(level: FinalityOption['finality']): Finality | null | undefined {
  return level === DEFAULT ? null : level;
}

export function addFinalityOption(command: Command): Command {
  return command.option(
    '--finality <level>',
    'how sure an event from a network has to be: seen, safe, final, a number of confirmations, or default',
    parseFinality,
  );
}

function parseFinality(text: string): Finality | typeof DEFAULT {
  if (text === 'seen' || text === 'safe' || text === 'final' || text === DEFAULT) return text;
  const confirmations = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  if (confirmations >= MIN_CONFIRMATIONS && confirmations <= MAX_CONFIRMATIONS) return confirmations;
  throw new InvalidArgumentError(
    `Give seen, safe, final, default, or a number of confirmations from ${MIN_CONFIRMATIONS} to ${MAX_CONFIRMATIONS}.`,
  );
}

export function showFinality(finality: Finality): string {
  return typeof finality === 'number' ? showCount(finality, 'confirmation') : finality;
}
