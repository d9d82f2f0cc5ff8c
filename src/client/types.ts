import type { z } from 'zod';
import type {
  apiKeyListQuerySchema,
  apiKeyListSchema,
  apiKeySchema,
  createdApiKeySchema,
  entityListQuerySchema,
  entityListSchema,
  entitySchema,
  newApiKeySchema,
  newEntitySchema,
  provisionedSchema,
} from '../contract/admin.ts';
import type { auditEntrySchema, auditListQuerySchema, auditListSchema } from '../contract/audit.ts';
import type {
  attemptSchema,
  deliveryDetailSchema,
  deliveryListQuerySchema,
  deliveryListSchema,
  deliverySchema,
  eventListQuerySchema,
  eventListSchema,
  eventSchema,
  redeliverQuerySchema,
  redeliverySchema,
} from '../contract/deliveries.ts';
import type { acceptedSchema, batchResultsSchema } from '../contract/events.ts';
import type { rotationSchema, secretListSchema, signingSecretSchema } from '../contract/secrets.ts';
import type { statsQuerySchema, statsSchema } from '../contract/stats.ts';
import type { healthSchema, noticeUrlSchema, testResponseSchema } from '../contract/webhook-health.ts';
import type {
  countSchema,
  coverageSchema,
  registrationSchema,
  webhookListQuerySchema,
  webhookListSchema,
  webhookMatchSchema,
  webhookSchema,
  webhookUpdateSchema,
} from '../contract/webhooks.ts';

/**
 * Everything that goes over the wire, inferred from the schemas that the service itself checks with. Only types come
 * from there: the client carries no schema, because the service has checked already what it answers.
 */

/** Parameters travel as text; the value that the service reads from it is what a caller gives, or leaves out. */
type Query<Schema extends z.ZodType> = { [Name in keyof z.output<Schema>]?: z.output<Schema>[Name] | undefined };

/** A bulk operation has `dryRun` as a method of its own, so that a count and a change cannot be mistaken. */
type Match<Schema extends z.ZodType> = Omit<Query<Schema>, 'dryRun'>;

type Made<Factory extends (...rules: never[]) => z.ZodType> = z.input<ReturnType<Factory>>;

/** Where an input that was at fault stands, its name, and how to mend it; and what a problem is called. */
export type { InputError, ProblemCode } from '../contract/problems.ts';

export type Webhook = z.output<typeof webhookSchema>;
export type WebhookList = z.output<typeof webhookListSchema>;
export type WebhookListQuery = Query<typeof webhookListQuerySchema>;
export type WebhookMatch = Match<typeof webhookMatchSchema>;
export type WebhookUpdate = Made<typeof webhookUpdateSchema>;
export type Registration = Made<typeof registrationSchema>;
export type WebhookHealth = z.output<typeof healthSchema>;
export type TestAnswer = z.output<typeof testResponseSchema>;
export type NoticeUrl = z.output<typeof noticeUrlSchema>;
export type Coverage = z.output<typeof coverageSchema>;
export type Count = z.output<typeof countSchema>;

export type SigningSecret = z.output<typeof signingSecretSchema>;
export type SecretList = z.output<typeof secretListSchema>;
export type Rotation = z.input<typeof rotationSchema>;

export type AcceptedEvent = z.output<typeof acceptedSchema>;
export type BatchResults = z.output<typeof batchResultsSchema>;
export type Event = z.output<typeof eventSchema>;
export type EventList = z.output<typeof eventListSchema>;
export type EventListQuery = Query<typeof eventListQuerySchema>;

export type Attempt = z.output<typeof attemptSchema>;
export type Delivery = z.output<typeof deliverySchema>;
export type DeliveryDetail = z.output<typeof deliveryDetailSchema>;
export type DeliveryList = z.output<typeof deliveryListSchema>;
export type DeliveryListQuery = Query<typeof deliveryListQuerySchema>;
export type DeliveryMatch = Match<typeof redeliverQuerySchema>;
export type Redelivery = z.output<typeof redeliverySchema>;

export type Stats = z.output<typeof statsSchema>;
export type StatsQuery = Query<typeof statsQuerySchema>;

export type AuditEntry = z.output<typeof auditEntrySchema>;
export type AuditList = z.output<typeof auditListSchema>;
export type AuditListQuery = Query<typeof auditListQuerySchema>;

export type Entity = z.output<typeof entitySchema>;
export type EntityList = z.output<typeof entityListSchema>;
export type EntityListQuery = Query<typeof entityListQuerySchema>;
export type NewEntity = z.input<typeof newEntitySchema>;
export type ProvisionedEntity = z.output<typeof provisionedSchema>;

export type ApiKey = z.output<typeof apiKeySchema>;
export type ApiKeyList = z.output<typeof apiKeyListSchema>;
export type ApiKeyListQuery = Query<typeof apiKeyListQuerySchema>;
export type NewApiKey = z.input<typeof newApiKeySchema>;
export type CreatedApiKey = z.output<typeof createdApiKeySchema>;
