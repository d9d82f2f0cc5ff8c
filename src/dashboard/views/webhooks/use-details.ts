import type { Coverage, Webhook, WebhookHealth, WebhookOptions } from '../../../client/webhooks.ts';
import { MAX_LIMIT } from '../../../contract/list-query.ts';
import { defaultFinality } from '../../../domain/chain/finality.ts';
import type { WebhookFinality } from '../../../domain/chain/finality-by-amount.ts';
import { paybell } from '../../api.ts';
import { useResponse } from '../../use-response.ts';

type Cell = Coverage['networks'][number]['events'][number];
type ById<Value> = ReadonlyMap<string, Value>;

export type WebhookState = 'active' | 'suspended' | 'paused';

/** Details of a webhook that its list leaves out. */
export type WebhookDetails = {
  /** Null unless the webhook may be suspended. */
  readonly health: WebhookHealth | null;
  /** Null while the state is unknown, or if too many endpoints are paused for one response. */
  readonly state: WebhookState | null;
  /** Null for the default of the event kind. */
  readonly finality: WebhookFinality | null;
};

/** The state and the finality of the webhooks on screen. */
export function useDetails(
  webhooks: readonly Webhook[],
  coverage: Coverage | null,
  revision: number,
): (webhook: Webhook) => WebhookDetails {
  const maySuspend = idsInCells(webhooks, coverage, ({ suspended }) => suspended > 0);
  const health = useEach(`health ${revision}`, maySuspend, (id, signal) => paybell().webhooks.health(id, { signal }));
  const mayDiffer = idsInCells(webhooks, coverage, ({ ownFinality }) => ownFinality > 0);
  const options = useEach<WebhookOptions>(`options ${revision}`, mayDiffer, (id, signal) =>
    paybell().webhooks.options(id, { signal }),
  );
  const { data: paused } = useResponse(`paused endpoints ${revision}`, (signal) =>
    paybell().endpoints.list({ state: 'paused', limit: MAX_LIMIT }, { signal }),
  );
  const urls = new Set(paused?.endpoints.map(({ postUrl }) => postUrl));
  const areAllKnown = coverage !== null && paused !== null && paused.totalResults <= urls.size;
  return ({ webhookId, event, postUrl }) => {
    const known = health.get(webhookId) ?? null;
    const finality = options.get(webhookId)?.finality ?? defaultFinality(event);
    const isRunning = areAllKnown && (known !== null || !maySuspend.includes(webhookId));
    const rest = urls.has(postUrl) ? 'paused' : isRunning ? 'active' : null;
    return {
      health: known,
      state: known?.state === 'suspended' ? 'suspended' : rest,
      finality: finality === defaultFinality(event) ? null : finality,
    };
  };
}

/** Avoids a request for each row: requests only the webhooks in coverage cells for which `hasSome` is true. */
function idsInCells(webhooks: readonly Webhook[], coverage: Coverage | null, hasSome: (cell: Cell) => boolean) {
  const cells = (coverage?.networks ?? []).flatMap(({ networkId, events }) =>
    events.filter(hasSome).map(({ event }) => `${networkId} ${event}`),
  );
  const chosen = webhooks.filter(({ networkId, event }) => cells.includes(`${networkId} ${event}`));
  return chosen.map(({ webhookId }) => webhookId);
}

const MAX_CONCURRENT = 6;

function useEach<Value>(
  key: string,
  ids: readonly string[],
  fetchOne: (id: string, signal: AbortSignal) => Promise<Value>,
): ById<Value> {
  const { data } = useResponse(`${key} ${ids.join()}`, async (signal) => {
    const found = new Map<string, Value>();
    const remaining = [...ids];
    const worker = async () => {
      for (let id = remaining.shift(); id !== undefined; id = remaining.shift()) {
        found.set(id, await fetchOne(id, signal));
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
    return found;
  });
  return data ?? new Map();
}
