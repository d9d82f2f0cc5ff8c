import { z } from 'zod';
import { postUrlSchema, type RegistrationRules } from './webhooks.ts';

/** How a webhook fares, and what is said when it is taken out of service. */

const dateS = z.int().nullable();

export const healthSchema = z
  .strictObject({
    webhookId: z.string(),
    state: z.enum(['active', 'suspended']),
    reason: z
      .enum(['gone', 'failing'])
      .nullable()
      .meta({ description: '`gone`: it answered 410. `failing`: five days without one success.' }),
    failuresInARow: z.int().min(0),
    dateLastSuccess: dateS,
    dateLastFailure: dateS,
  })
  .meta({
    id: 'WebhookHealth',
    description: 'To within a few seconds.',
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
    delivered: z.boolean(),
    statusCode: z.int().nullable(),
    error: z.string().nullable(),
    durationMs: z.int().min(0),
    response: z.string().nullable(),
  })
  .meta({
    id: 'TestAnswer',
    example: { delivered: true, statusCode: 200, error: null, durationMs: 84, response: 'ok' },
  });

export const noticeUrlSchema = z
  .strictObject({ noticeUrl: z.string().nullable().meta({ description: 'Null when none is set.' }) })
  .meta({ id: 'NoticeUrl', example: { noticeUrl: 'https://example.com/hooks/paybell-notices' } });

export function noticeUrlUpdateSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets'>) {
  return z
    .strictObject({ noticeUrl: postUrlSchema(rules).nullable() }, { error: 'the body must be a JSON object' })
    .meta({ id: 'NoticeUrlUpdate' });
}

/** The kind of event that a notice is. */
export const SUSPENDED_NOTICE = 'webhook.suspended';
