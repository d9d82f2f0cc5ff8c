import type { Coverage, Webhook, WebhookHealth } from '../../../client/webhooks.ts';
import { MAX_LIMIT } from '../../../contract/list-query.ts';
import { paybell } from '../../api.ts';
import { useResponse } from '../../use-response.ts';
import { type ById, idsInCells } from './fetch-each.ts';

export type WebhookState = 'active' | 'suspended' | 'paused';

/**
 * The state of the webhooks on screen. A webhook whose state is not known is left out: while it is loading, and where so many
 * endpoints are paused that they do not fit into one response.
 */
export function useStates(
  webhooks: readonly Webhook[],
  coverage: Coverage | null,
  health: ById<WebhookHealth>,
  revision: number,
): ById<WebhookState> {
  const { data: paused } = useResponse(`paused endpoints ${revision}`, (signal) =>
    paybell().endpoints.list({ state: 'paused', limit: MAX_LIMIT }, { signal }),
  );
  const urls = new Set(paused?.endpoints.map(({ postUrl }) => postUrl));
  const areAllKnown = paused !== null && paused.totalResults <= urls.size;
  const mayBeSuspended = new Set(idsInCells(webhooks, coverage, ({ suspended }) => suspended > 0));
  const stateOf = ({ webhookId, postUrl }: Webhook): WebhookState | null => {
    const known = health.get(webhookId);
    if (known?.state === 'suspended') return 'suspended';
    if (urls.has(postUrl)) return 'paused';
    const isRunning = coverage !== null && (known !== undefined || !mayBeSuspended.has(webhookId));
    return isRunning && areAllKnown ? 'active' : null;
  };
  return new Map(
    webhooks.flatMap((webhook) => {
      const state = stateOf(webhook);
      return state === null ? [] : [[webhook.webhookId, state] as const];
    }),
  );
}
