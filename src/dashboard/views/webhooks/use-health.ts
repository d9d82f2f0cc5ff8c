import type { Coverage, Webhook, WebhookHealth } from '../../../client/webhooks.ts';
import { paybell } from '../../api.ts';
import { useResponse } from '../../use-response.ts';

export type HealthById = ReadonlyMap<string, WebhookHealth>;

const NO_HEALTH: HealthById = new Map();
const MAX_CONCURRENT = 6;

/**
 * The health of the suspended webhooks on screen. The list does not include it, and one request for each row would be too
 * many, so only webhooks in coverage cells with suspensions are requested.
 */
export function useHealth(webhooks: readonly Webhook[], coverage: Coverage | null, revision: number): HealthById {
  const cells = new Set(
    (coverage?.networks ?? []).flatMap(({ networkId, events }) =>
      events.filter(({ suspended }) => suspended > 0).map(({ event }) => `${networkId} ${event}`),
    ),
  );
  const ids = webhooks
    .filter((webhook) => cells.has(`${webhook.networkId} ${webhook.event}`))
    .map(({ webhookId }) => webhookId);
  const response = useResponse(`${revision} ${ids.join()}`, (signal) => fetchHealth(ids, signal));
  return response.data ?? NO_HEALTH;
}

async function fetchHealth(ids: readonly string[], signal: AbortSignal): Promise<HealthById> {
  const found = new Map<string, WebhookHealth>();
  const remaining = [...ids];
  const worker = async () => {
    for (let id = remaining.shift(); id !== undefined; id = remaining.shift()) {
      const health = await paybell().webhooks.health(id, { signal });
      found.set(id, health);
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
  return found;
}
