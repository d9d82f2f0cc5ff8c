import { z } from 'zod';
import { postUrlSchema, type RegistrationRules } from './webhooks.ts';

/** The health of a webhook, and the alert that is sent when it is suspended. */

export const healthSchema = z
  .strictObject({
    webhookId: z.string().meta({ description: 'Unique identifier of the webhook.' }),
    state: z.enum(['active', 'suspended']).meta({ description: 'A suspended webhook receives no deliveries.' }),
    reason: z.enum(['gone', 'failing']).nullable().meta({
      description:
        'Why the webhook is suspended. `gone`: the receiver responded with 410. `failing`: no delivery succeeded for five days.',
    }),
    failuresInARow: z.int().min(0).meta({ description: 'Failed attempts since the last successful one.' }),
    dateLastSuccess: z.int().nullable().meta({ description: 'Last successful attempt, in Unix seconds.' }),
    dateLastFailure: z.int().nullable().meta({ description: 'Last failed attempt, in Unix seconds.' }),
  })
  .meta({
    id: 'WebhookHealth',
    description: 'Health of a webhook. It can be a few seconds behind.',
    example: {
      webhookId: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
      state: 'suspended',
      reason: 'gone',
      failuresInARow: 1,
      dateLastSuccess: 1763168400,
      dateLastFailure: 1763172000,
    },
  });

export type WebhookHealth = z.output<typeof healthSchema>;

export const testResponseSchema = z
  .strictObject({
    delivered: z.boolean().meta({ description: 'Whether the receiver responded with a 2xx status.' }),
    statusCode: z.int().nullable().meta({ description: 'HTTP status; null when there was no complete response.' }),
    error: z.string().nullable().meta({ description: 'Why there was no complete response; null when there was one.' }),
    durationMs: z.int().min(0).meta({ description: 'Duration of the request, in milliseconds.' }),
    response: z.string().nullable().meta({ description: 'The beginning of the response body.' }),
  })
  .meta({
    id: 'TestAnswer',
    description: 'The result of a test request.',
    example: { delivered: true, statusCode: 200, error: null, durationMs: 84, response: 'ok' },
  });

export const noticeUrlSchema = z
  .strictObject({
    noticeUrl: z.string().nullable().meta({ description: 'URL that receives the alerts; null when alerts are off.' }),
  })
  .meta({
    id: 'NoticeUrl',
    description: 'Where alerts are sent.',
    example: { noticeUrl: 'https://example.com/hooks/paybell-notices' },
  });

export function noticeUrlUpdateSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets'>) {
  return z
    .strictObject(
      {
        noticeUrl: postUrlSchema(rules)
          .nullable()
          .meta({ type: ['string', 'null'] }),
      },
      { error: 'the body must be a JSON object' },
    )
    .meta({ id: 'NoticeUrlUpdate' });
}
