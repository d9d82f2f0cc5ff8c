import type { Coverage, Webhook } from '../../../client/webhooks.ts';

/** What the list does not include, for some of the webhooks on screen. */
export type ById<Value> = ReadonlyMap<string, Value>;

type Cell = Coverage['networks'][number]['events'][number];

const MAX_CONCURRENT = 6;

/** One request for each row would be too many, so only webhooks in cells of the coverage are requested that have some. */
export function idsInCells(
  webhooks: readonly Webhook[],
  coverage: Coverage | null,
  hasSome: (cell: Cell) => boolean,
): string[] {
  const cells = new Set(
    (coverage?.networks ?? []).flatMap(({ networkId, events }) =>
      events.filter(hasSome).map(({ event }) => `${networkId} ${event}`),
    ),
  );
  return webhooks
    .filter((webhook) => cells.has(`${webhook.networkId} ${webhook.event}`))
    .map(({ webhookId }) => webhookId);
}

export async function fetchEach<Value>(
  ids: readonly string[],
  fetchOne: (id: string) => Promise<Value>,
): Promise<ById<Value>> {
  const found = new Map<string, Value>();
  const remaining = [...ids];
  const worker = async () => {
    for (let id = remaining.shift(); id !== undefined; id = remaining.shift()) found.set(id, await fetchOne(id));
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
  return found;
}
