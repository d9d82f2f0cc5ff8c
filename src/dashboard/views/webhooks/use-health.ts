import type { Coverage, Webhook, WebhookHealth } from '../../../client/types.ts';
import { paybell } from '../../api.ts';
import { useResponse } from '../../use-response.ts';

export type HealthById = ReadonlyMap<string, WebhookHealth>;

const NOTHING: HealthById = new Map();
const AT_ONCE = 6;

/**
 * How the webhooks in view fare. The list does not say, and asking for each of a hundred would be a hundred requests:
 * the coverage tells in which cells anything is suspended, and only those are asked about.
 */
export function useHealth(webhooks: readonly Webhook[], coverage: Coverage | null, change: number): HealthById {
  const cells = new Set(
    (coverage?.networks ?? []).flatMap(({ networkId, events }) =>
      events.filter(({ suspended }) => suspended > 0).map(({ event }) => `${networkId} ${event}`),
    ),
  );
  const ids = webhooks
    .filter((webhook) => cells.has(`${webhook.networkId} ${webhook.event}`))
    .map((one) => one.webhookId);
  const answer = useResponse(`${change} ${ids.join()}`, (signal) => healthOf(ids, signal));
  return answer.data ?? NOTHING;
}

async function healthOf(ids: readonly string[], signal: AbortSignal): Promise<HealthById> {
  const found = new Map<string, WebhookHealth>();
  const waiting = [...ids];
  const next = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      const health = await paybell().webhooks.health(id, { signal });
      found.set(id, health);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return found;
}
