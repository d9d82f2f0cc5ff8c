import type { Coverage, Webhook, WebhookHealth } from '../../../client/webhooks.ts';
import { paybell } from '../../api.ts';
import { useResponse } from '../../use-response.ts';
import { type ById, fetchEach, idsInCells } from './fetch-each.ts';

const NO_HEALTH: ById<WebhookHealth> = new Map();

/** The health of the suspended webhooks on screen, and of those of the same network and event. */
export function useHealth(
  webhooks: readonly Webhook[],
  coverage: Coverage | null,
  revision: number,
): ById<WebhookHealth> {
  const ids = idsInCells(webhooks, coverage, ({ suspended }) => suspended > 0);
  const response = useResponse(`${revision} ${ids.join()}`, (signal) =>
    fetchEach(ids, (id) => paybell().webhooks.health(id, { signal })),
  );
  return response.data ?? NO_HEALTH;
}
