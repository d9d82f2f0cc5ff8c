import type { Command } from 'commander';
import type { z } from 'zod';
import { redeliverQuerySchema } from '../../contract/deliveries/redelivery.ts';
import { UsageError } from '../terminal/command-error.ts';
import { type OptionValues, parseOptions } from './list-options.ts';
import { MOMENT, parseMoment } from './values.ts';

/** The filters of the delivery list as options. */
export function addDeliveryFilters(command: Command): Command {
  return addCountFilters(command.option('--status <status>', 'only deliveries with this status, such as failed'));
}

export function addPayloadFilter(command: Command): Command {
  return command.option('--payload <text>', 'only deliveries with this text in their body; needs --since');
}

/** Adds all filters except the status. */
export function addCountFilters(command: Command): Command {
  return command
    .option('--search <text>', 'only matches of this text: an id, or the beginning of a URL or a host')
    .option('--event-id <id>', 'only deliveries of this event')
    .option('--webhook-id <id>', 'only deliveries to this webhook')
    .option('--endpoint-id <id>', 'only deliveries to webhooks of this endpoint')
    .option('--event <kind>', 'only this kind of event')
    .option('--network-id <id>', 'only this network')
    .option('--since <when>', `only from this moment on: ${MOMENT}`, parseMoment)
    .option('--until <when>', 'only before this moment', parseMoment);
}

/** `--search` is `q` in the API. */
export function parseDeliveryOptions<Schema extends z.ZodObject>(
  schema: Schema,
  { search, ...values }: Readonly<OptionValues>,
): z.output<Schema> {
  return parseOptions(schema, { ...values, ...(search !== undefined && { q: search }) }, { q: 'search' });
}

/**
 * Chooses one delivery by its id, or all deliveries that match the filters: never both, and never all deliveries by
 * accident.
 */
export function chooseDeliveries(deliveryId: string | undefined, filters: Readonly<OptionValues>) {
  const hasFilters = Object.keys(filters).length > 0;
  if (deliveryId !== undefined) {
    if (hasFilters) throw new UsageError('give either a delivery id or filters, not both');
    return { deliveryId };
  }
  if (!hasFilters) {
    throw new UsageError('give a delivery id, or at least one filter such as --status failed');
  }
  const { dryRun: _, ...filter } = parseDeliveryOptions(redeliverQuerySchema, filters);
  return { filter };
}
