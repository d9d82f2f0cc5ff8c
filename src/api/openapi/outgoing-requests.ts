import type { RouteConfig } from '@asteasolutions/zod-to-openapi';
import type { z } from 'zod';
import { documentedSample, OWN_SAMPLES } from '../../contract/events/documented-samples.ts';
import { extraPayloadSchema, PAYLOAD_SCHEMAS } from '../../contract/events/payload-schemas.ts';
import { EVENT_KINDS, RETRACTION } from '../../domain/event-kinds.ts';
import { version } from '../../version.ts';

/** The section `webhooks` of the OpenAPI document: every request that Paybell sends, with its headers and samples. */

export const OUTGOING_TAG = {
  name: 'Outgoing requests',
  description:
    'Requests from Paybell to the URLs of webhooks, and alerts to the URL for alerts. Verify `webhook-signature` with a ' +
    'Standard Webhooks library, and handle each `webhook-id` once.',
};

/** Settings that change outgoing requests. */
export type OutgoingSettings = {
  readonly extraEvents: readonly string[];
  readonly bodySignatureHeader: string | undefined;
};

type Sent = {
  readonly kind: string;
  readonly operationId: string;
  readonly summary: string;
  readonly schema: z.ZodType;
  readonly samples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
  /** Whether its deliveries have a sequence number. */
  readonly isNumbered: boolean;
};

const NOT_NUMBERED = 'Absent in a test request, which has no number.';
const NOT_TRACED = 'Absent unless the sender of the event sent one, or Paybell records traces.';

function header(name: string, description: string, example: string, required = true) {
  return { name, in: 'header' as const, required, description, schema: { type: 'string' as const }, example };
}

export const SENT_HEADERS = {
  UserAgent: header('user-agent', 'The version of Paybell.', `Paybell/${version}`),
  WebhookId: header(
    'webhook-id',
    'Identifies the delivery. It is the same on every attempt: handle each once.',
    'dlv_0199c2a7118c7b0e9f2d6a5b4c3d2e1f',
  ),
  WebhookTimestamp: header('webhook-timestamp', 'Time of this attempt, in Unix seconds.', '1763168400'),
  WebhookSignature: header(
    'webhook-signature',
    'A signature of `<webhook-id>.<webhook-timestamp>.<body>` for each active secret, as `v1,<base64>`, separated by spaces; ' +
      'with `SIGN_ASYMMETRIC` also one for each active signing key, as `v1a,<base64>`.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
  PaybellEventId: header(
    'paybell-event-id',
    'Identifies the event. It is the same for every webhook that receives it.',
    'evt_0199c2a7118c7b0e9f2d6a5b4c3d2e1f',
  ),
  PaybellEndpoint: header(
    'paybell-endpoint',
    `Endpoint that has numbered the delivery. ${NOT_NUMBERED}`,
    'ep_00000000000001',
    false,
  ),
  PaybellSequence: header(
    'paybell-sequence',
    `Sequence number of the delivery at that endpoint, without a gap, the same on every attempt. ${NOT_NUMBERED}`,
    '42',
    false,
  ),
  PaybellSequenceSignature: header(
    'paybell-sequence-signature',
    'A signature of `<webhook-id>.<paybell-endpoint>.<paybell-sequence>` for each active secret, as `v1,<base64>`. ' +
      NOT_NUMBERED,
    'v1,vLNWyCGUmUYqKrs5yIlZGzAqwVvXXQFrWJAFpnfSA4k=',
    false,
  ),
  Traceparent: header(
    'traceparent',
    `Trace of the event (W3C Trace Context). ${NOT_TRACED}`,
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    false,
  ),
  Tracestate: header(
    'tracestate',
    `Further data of the trace from its sender. ${NOT_TRACED}`,
    'congo=t61rcWkgMzE',
    false,
  ),
};

type HeaderName = keyof typeof SENT_HEADERS;

const ALWAYS: readonly HeaderName[] = [
  'UserAgent',
  'WebhookId',
  'WebhookTimestamp',
  'WebhookSignature',
  'PaybellEventId',
];
const NUMBERED: readonly HeaderName[] = ['PaybellEndpoint', 'PaybellSequence', 'PaybellSequenceSignature'];
const TRACED: readonly HeaderName[] = ['Traceparent', 'Tracestate'];

const RESPONSES = {
  '2XX': {
    description: 'The delivery is complete. Respond within `DELIVERY_TIMEOUT`, which is 15 seconds by default.',
  },
  410: { description: 'The receiver wants no more requests. Paybell suspends the webhook.' },
  default: {
    description:
      'Any other response, a redirect included, fails the attempt. Another one follows by `RETRY_SCHEDULE`, except for a test request.',
  },
};

export function outgoingRequests({ extraEvents, bodySignatureHeader }: OutgoingSettings): RouteConfig[] {
  const own = bodySignatureHeader === undefined ? [] : [bodySignature(bodySignatureHeader)];
  return [...EVENT_KINDS.map(sentKind), ...extraEvents.map(sentExtra), sentRetraction(), ...sentAlerts()].map(
    ({ kind, operationId, summary, schema, samples, isNumbered }) => ({
      method: 'post',
      path: kind,
      operationId,
      tags: [OUTGOING_TAG.name],
      summary,
      security: [],
      parameters: [...[...ALWAYS, ...(isNumbered ? [...NUMBERED, ...TRACED] : [])].map(refer), ...own],
      request: { body: { required: true, content: { 'application/json': { schema, examples: samples } } } },
      responses: RESPONSES,
    }),
  );
}

function bodySignature(name: string) {
  const description = 'HMAC-SHA256 of the body in base64 (`BODY_SIGNATURE_HEADER`). It does not prevent replays.';
  return header(name, description, 'vLNWyCGUmUYqKrs5yIlZGzAqwVvXXQFrWJAFpnfSA4k=');
}

function refer(name: HeaderName): { $ref: `#/components/parameters/${HeaderName}` } {
  return { $ref: `#/components/parameters/${name}` };
}

function sentKind(kind: (typeof EVENT_KINDS)[number]): Sent {
  const schema = PAYLOAD_SCHEMAS[kind];
  return {
    kind,
    operationId: `receive${kind}`,
    summary: `Event ${kind}`,
    schema,
    samples: withTest(kind),
    isNumbered: true,
  };
}

function sentExtra(kind: string): Sent {
  return {
    kind,
    operationId: `receive.${kind}`,
    summary: `Event ${kind}`,
    schema: extraPayloadSchema(kind),
    samples: withTest(kind),
    isNumbered: true,
  };
}

function withTest(kind: string): Sent['samples'] {
  const value = documentedSample(kind);
  return {
    delivery: { summary: 'A delivery', value },
    test: { summary: 'A test request', value: { ...value, test: true } },
  };
}

function sentRetraction(): Sent {
  return {
    kind: RETRACTION,
    operationId: `receive${RETRACTION}`,
    summary: 'An event is retracted',
    schema: PAYLOAD_SCHEMAS[RETRACTION],
    samples: { retraction: { summary: 'A retraction', value: OWN_SAMPLES[RETRACTION] } },
    isNumbered: true,
  };
}

const ALERT_KINDS = ['endpoint.failing', 'endpoint.recovered', 'webhook.suspended'] as const;

function sentAlerts(): Sent[] {
  return ALERT_KINDS.map((kind) => ({
    kind,
    operationId: `receive${PAYLOAD_SCHEMAS[kind].meta()?.id}`,
    summary: `Alert ${kind}`,
    schema: PAYLOAD_SCHEMAS[kind],
    samples: { alert: { summary: 'An alert', value: OWN_SAMPLES[kind] } },
    isNumbered: false,
  }));
}
