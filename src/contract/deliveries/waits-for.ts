import { z } from 'zod';
import { SUSPEND_REASONS } from '../../domain/attempt.ts';

/** Why a delivery was not sent yet. */

/**
 * In the order in which they apply. `receiver` and `slot` are due: the receiver does not respond to earlier requests, or
 * no instance has taken the delivery yet.
 */
const WAITING_KINDS = ['paused', 'suspended', 'order', 'retry', 'receiver', 'rate_limit', 'slot'] as const;
export type WaitingKind = (typeof WAITING_KINDS)[number];

const exampleWait = {
  kind: 'suspended',
  dateSince: 1763168400,
  dateUntil: null,
  reason: 'gone',
  actor: null,
  actorName: null,
  deliveryId: null,
  requests: null,
  requestsPerSecond: null,
  lastStatusCode: null,
  lastError: null,
} as const;

export const waitsForSchema = z
  .strictObject({
    kind: z.enum(WAITING_KINDS).meta({
      description:
        '`paused`: someone has paused the endpoint. `suspended`: Paybell has suspended the webhook. `order`: an earlier ' +
        'delivery of the same agreement or payment is not complete. `retry`: an attempt failed, and the next one is ' +
        'scheduled. `receiver`: requests to the receiver are in progress without a response, or the receiver fails and ' +
        'gets one request at a time. `rate_limit`: the endpoint has a rate limit. `slot`: Paybell sends it as soon as it ' +
        'has a free slot.',
    }),
    dateSince: z
      .int()
      .nullable()
      .meta({
        description:
          'Since when it waits, in Unix seconds: when the endpoint was paused or the webhook suspended, when the receiver ' +
          'last began to fail or the oldest request to it began, or when the delivery was due.',
      }),
    dateUntil: z.int().nullable().meta({
      description: 'When the next attempt is due, in Unix seconds; with `rate_limit`, when it is sent at the latest.',
    }),
    reason: z.enum(SUSPEND_REASONS).nullable().meta({
      description: 'Why the webhook is suspended: `gone` after HTTP 410, `failing` after days of failures only.',
    }),
    actor: z.string().nullable().meta({ description: 'Who paused the endpoint, as in the audit log.' }),
    actorName: z.string().nullable().meta({ description: 'Name of the API key that paused the endpoint.' }),
    deliveryId: z.string().nullable().meta({ description: 'With `order`, the delivery that has to complete first.' }),
    requests: z.int().min(0).nullable().meta({
      description: 'With `receiver`, the number of requests to the host of the endpoint that are in progress.',
    }),
    requestsPerSecond: z.int().nullable().meta({ description: 'With `rate_limit`, the rate limit of the endpoint.' }),
    lastStatusCode: z
      .int()
      .nullable()
      .meta({ description: 'With `receiver`, HTTP status of the last failed attempt.' }),
    lastError: z
      .string()
      .nullable()
      .meta({ description: 'With `receiver`, why the last failed attempt got no complete response.' }),
  })
  .meta({ id: 'WaitsFor', description: 'Why a delivery was not sent yet.', example: exampleWait });

export type WaitsFor = z.output<typeof waitsForSchema>;

const NOTHING = {
  ...{ dateSince: null, dateUntil: null, reason: null, actor: null, actorName: null, deliveryId: null },
  ...{ requests: null, requestsPerSecond: null, lastStatusCode: null, lastError: null },
};

/** With null for all that is not given. */
export function waitsFor(kind: WaitingKind, known: Partial<Omit<WaitsFor, 'kind'>>): WaitsFor {
  return { kind, ...NOTHING, ...known };
}
