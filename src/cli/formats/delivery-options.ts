import type { Command } from 'commander';
import { redeliverQuerySchema } from '../../contract/deliveries.ts';
import { CommandError, EXIT } from '../terminal/command-error.ts';
import { parseMoment } from './dates.ts';
import { parseOptions } from './list-options.ts';

/** Which deliveries: the filters of the list as options. */
export function addDeliveryFilters(command: Command): Command {
  return command
    .option('--status <status>', 'only in this state, such as failed')
    .option('--event-id <id>', 'only of this event')
    .option('--webhook-id <id>', 'only to this webhook')
    .option('--event <kind>', 'only of this kind of event')
    .option('--network-id <id>', 'only of this network')
    .option('--since <when>', 'only from then on: a date such as 2026-01-31T12:00Z, or Unix seconds', parseMoment)
    .option('--until <when>', 'only before then', parseMoment);
}

type Given = Readonly<Record<string, string | boolean | undefined>>;

/** One delivery by its id, or all that match: never both, and never all by accident. */
export function chooseDeliveries(deliveryId: string | undefined, filters: Given) {
  const given = Object.keys(filters).length > 0;
  if (deliveryId !== undefined) {
    if (given) throw new CommandError('give the id of one delivery or filters for many, not both', EXIT.usage);
    return { deliveryId };
  }
  if (!given) {
    throw new CommandError('give the id of a delivery, or at least one filter such as --status failed', EXIT.usage);
  }
  const { dryRun: _, ...filter } = parseOptions(redeliverQuerySchema, filters);
  return { filter };
}
