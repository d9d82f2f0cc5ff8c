import { z } from 'zod';
import * as provisioning from '../src/contract/admin.ts';
import * as audit from '../src/contract/audit.ts';
import * as views from '../src/contract/deliveries.ts';
import * as posted from '../src/contract/events.ts';
import { PROBLEMS } from '../src/contract/problems.ts';
import * as secrets from '../src/contract/secrets.ts';
import * as stats from '../src/contract/stats.ts';
import * as health from '../src/contract/webhook-health.ts';
import * as webhooks from '../src/contract/webhooks.ts';
import { commentText, type JsonSchema, typeText } from './schema-type.ts';

/**
 * The declarations of `src/client/types.ts` written out: there they are inferred from zod's schemas, and whoever
 * installs the client should need no zod to read them. A test holds each to what is inferred.
 */

/** Types do not depend on the settings. */
const RULES = { allowInsecureTargets: false, networks: [], events: [] };

const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  Webhook: webhooks.webhookSchema,
  WebhookList: webhooks.webhookListSchema,
  WebhookHealth: health.healthSchema,
  TestAnswer: health.testResponseSchema,
  NoticeUrl: health.noticeUrlSchema,
  Coverage: webhooks.coverageSchema,
  Count: webhooks.countSchema,
  SigningSecret: secrets.signingSecretSchema,
  SecretList: secrets.secretListSchema,
  AcceptedEvent: posted.acceptedSchema,
  BatchResults: posted.batchResultsSchema,
  Event: views.eventSchema,
  EventList: views.eventListSchema,
  Attempt: views.attemptSchema,
  Delivery: views.deliverySchema,
  DeliveryDetail: views.deliveryDetailSchema,
  DeliveryList: views.deliveryListSchema,
  Redelivery: views.redeliverySchema,
  Stats: stats.statsSchema,
  AuditEntry: audit.auditEntrySchema,
  AuditList: audit.auditListSchema,
  Entity: provisioning.entitySchema,
  EntityList: provisioning.entityListSchema,
  ProvisionedEntity: provisioning.provisionedSchema,
  ApiKey: provisioning.apiKeySchema,
  ApiKeyList: provisioning.apiKeyListSchema,
  CreatedApiKey: provisioning.createdApiKeySchema,
};

const BODIES: Readonly<Record<string, z.ZodType>> = {
  WebhookUpdate: webhooks.webhookUpdateSchema(RULES),
  Registration: webhooks.registrationSchema(RULES),
  Rotation: secrets.rotationSchema,
  NewEntity: provisioning.newEntitySchema,
  NewApiKey: provisioning.newApiKeySchema,
};

const QUERIES: Readonly<Record<string, z.ZodType>> = {
  WebhookListQuery: webhooks.webhookListQuerySchema,
  WebhookMatch: webhooks.webhookMatchSchema,
  EventListQuery: views.eventListQuerySchema,
  DeliveryListQuery: views.deliveryListQuerySchema,
  DeliveryMatch: views.redeliverQuerySchema,
  StatsQuery: stats.statsQuerySchema,
  AuditListQuery: audit.auditListQuerySchema,
  EntityListQuery: provisioning.entityListQuerySchema,
  ApiKeyListQuery: provisioning.apiKeyListQuerySchema,
};

export function wireTypes(): string {
  const declared = [
    ...Object.entries(ANSWERS).map(([name, schema]) => declare(name, jsonSchemaOf(schema, 'output'))),
    ...Object.entries(BODIES).map(([name, schema]) => declare(name, jsonSchemaOf(schema, 'input'))),
    ...Object.entries(QUERIES).map(([name, schema]) => declare(name, asQuery(jsonSchemaOf(schema, 'output')))),
    declare('ProblemCode', { enum: Object.keys(PROBLEMS), description: 'The kind of problem, for programs; stable.' }),
    declare('Fault', FAULT),
  ];
  return declared.join('\n');
}

const FAULT: JsonSchema = {
  type: 'object',
  description: 'One fault of one input: where it stands, its name, and how to mend it.',
  properties: {
    in: { enum: ['query', 'path', 'header', 'body'] },
    name: { type: 'string' },
    message: { type: 'string' },
  },
  required: ['in', 'name', 'message'],
};

function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $ref, $defs, ...own } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonSchema;
  const name = $ref?.split('/').at(-1) ?? '';
  return $defs?.[name] ?? own;
}

/** Everything may be left out; `dryRun` is a method of its own. */
function asQuery({ properties: { dryRun: _, ...properties } = {}, ...schema }: JsonSchema): JsonSchema {
  return { ...schema, properties, required: [] };
}

function declare(name: string, schema: JsonSchema): string {
  return `${commentText(schema.description, '')}export type ${name} = ${typeText(schema)};\n`;
}
