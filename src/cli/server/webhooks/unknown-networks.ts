import { ProblemError } from '../../../client/errors.ts';
import type { Paybell } from '../../../client/paybell.ts';
import { DEFAULT_NETWORKS } from '../../../domain/networks.ts';
import { printWarning } from '../../terminal/output.ts';

/** Warns of unknown networks, because a webhook with a mistyped network id never receives an event. */
export async function warnOfUnknownNetworks(client: Paybell, networkIds: readonly number[]): Promise<void> {
  const unusual = networkIds.filter((id) => !(DEFAULT_NETWORKS as readonly number[]).includes(id));
  if (unusual.length === 0) return;
  const known = await networksOf(client);
  const unknown = unusual.filter((id) => !known.includes(id));
  if (unknown.length === 0) return;
  const which = unknown.length === 1 ? `network ${unknown[0]} is` : `networks ${unknown.join(', ')} are`;
  printWarning(
    `${which} not among the networks that the server knows (${known.join(', ')}); ` +
      'the webhook receives only events that name the same number',
  );
}

/** Networks that the server lists, or the usual ones if the key may not read them. */
async function networksOf(client: Paybell): Promise<readonly number[]> {
  try {
    return (await client.webhooks.coverage()).networks.map(({ networkId }) => networkId);
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'missing_permission') return DEFAULT_NETWORKS;
    throw error;
  }
}
