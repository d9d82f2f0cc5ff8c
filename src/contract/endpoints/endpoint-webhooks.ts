import { z } from 'zod';
import { pagingFields } from '../list-query.ts';
import { count } from '../values.ts';

/** The webhooks of one endpoint, with their state. */

const exampleWebhook = {
  webhookId: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  networkId: 8453,
  event: 'TransferFinalized',
  state: 'active',
  reason: null,
  waiting: 3,
  dateFailingSince: null,
  dateCreated: 1763168400,
};

export const endpointWebhookSchema = z
  .strictObject({
    webhookId: z.string().meta({ description: 'Unique identifier of the webhook.' }),
    networkId: z.int().meta({ description: 'Network of its events.' }),
    event: z.string().meta({ description: 'Kind of its events.' }),
    state: z.enum(['active', 'suspended']).meta({ description: 'A suspended webhook receives no deliveries.' }),
    reason: z.enum(['gone', 'failing']).nullable().meta({
      description:
        'Why it is suspended. `gone`: the receiver responded with 410. `failing`: no delivery succeeded for five days.',
    }),
    waiting: count.meta({ description: 'Number of its deliveries that wait to be sent.' }),
    dateFailingSince: z.int().nullable().meta({
      description: 'Since when it has had failures only, in Unix seconds; null if it has not.',
    }),
    dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
  })
  .meta({ id: 'EndpointWebhook', description: 'A webhook of an endpoint, with its state.', example: exampleWebhook });

export type EndpointWebhook = z.output<typeof endpointWebhookSchema>;

export const endpointWebhookListSchema = z
  .strictObject({
    totalResults: count.meta({ description: 'Number of all webhooks of the endpoint, on all pages.' }),
    webhooks: z.array(endpointWebhookSchema),
  })
  .meta({ id: 'EndpointWebhookList', example: { totalResults: 1, webhooks: [exampleWebhook] } });

export type EndpointWebhookList = z.output<typeof endpointWebhookListSchema>;

export const endpointWebhookQuerySchema = z.strictObject(pagingFields(['dateCreated']));

export type EndpointWebhookQuery = z.output<typeof endpointWebhookQuerySchema>;
