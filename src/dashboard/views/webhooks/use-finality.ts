import type { Coverage, Webhook, WebhookOptions } from '../../../client/webhooks.ts';
import { defaultFinality, type Finality } from '../../../domain/chain/finality.ts';
import { paybell } from '../../api.ts';
import { useResponse } from '../../use-response.ts';
import { type ById, fetchEach, idsInCells } from './fetch-each.ts';

const NO_OPTIONS: ById<WebhookOptions> = new Map();

/** The finality of the webhooks on screen where it is not the default of their event. */
export function useFinality(webhooks: readonly Webhook[], coverage: Coverage | null, revision: number): ById<Finality> {
  const ids = idsInCells(webhooks, coverage, ({ ownFinality }) => ownFinality > 0);
  const { data } = useResponse(`${revision} ${ids.join()}`, (signal) =>
    fetchEach(ids, (id) => paybell().webhooks.options(id, { signal })),
  );
  const options = data ?? NO_OPTIONS;
  return new Map(
    webhooks.flatMap(({ webhookId, event }) => {
      const finality = options.get(webhookId)?.finality ?? defaultFinality(event);
      return finality === defaultFinality(event) ? [] : [[webhookId, finality] as const];
    }),
  );
}
