import { z } from 'zod';
import { MAX_CERTIFICATE_LENGTH, MAX_PRIVATE_KEY_LENGTH } from '../../domain/endpoints/client-certificate.ts';
import {
  headerKey,
  headerNameError,
  headerValueError,
  MAX_HEADER_VALUE_BYTES,
  MAX_HEADERS,
  MAX_HEADERS_BYTES,
} from '../../domain/endpoints/request-headers.ts';
import { ENDPOINT_STATES, ORDERINGS, SECRET_SOURCES } from '../../domain/endpoints/settings.ts';
import { MAX_SECRETS_IN_FORCE } from '../../domain/secret-overlap.ts';
import { exactText, oneOf, pagingFields } from '../list-query.ts';
import { signingSecretSchema } from '../secrets.ts';
import { count } from '../values.ts';

const MAX_ENDPOINT_NAME_LENGTH = 100;
const MAX_RATE_LIMIT = 10_000;

export const shownCertificateSchema = z
  .strictObject({
    subject: z.string().meta({ description: 'Subject of the certificate.' }),
    fingerprint: z
      .string()
      .meta({ description: 'SHA-256 of the certificate, as `openssl x509 -fingerprint` prints it.' }),
    dateExpires: z.int().meta({
      description: 'When it expires, or a certificate of its chain if that is earlier, in Unix seconds.',
    }),
  })
  .meta({ id: 'ShownCertificate', description: 'A client certificate. Neither it nor its key is ever returned.' });

const endpointFields = {
  endpointId: z.string().meta({ description: 'Unique identifier of the endpoint.' }),
  postUrl: z.string().meta({ description: 'The URL, exactly as its webhooks have it.' }),
  name: z.string().nullable().meta({ description: 'A name for people; null if none was given.' }),
  state: z.enum(ENDPOINT_STATES).meta({
    description:
      '`paused` if it was paused by hand; `suspended` if Paybell has suspended at least one of its webhooks; `failing` if ' +
      'every attempt for at least one of its webhooks has failed since `dateFailingSince`; `active` otherwise. If several ' +
      'apply, the first of these is the state.',
  }),
  ordering: z.enum(ORDERINGS).meta({
    description:
      '`agreement` sends the events of one agreement one after another, in the order in which they were accepted. ' +
      '`none` does not wait.',
  }),
  paused: z.boolean().meta({ description: 'Whether its deliveries are held until it is resumed.' }),
  headerNames: z.array(z.string()).max(MAX_HEADERS).meta({
    description: 'Names of the fixed headers that its requests carry. Their values are never returned.',
  }),
  clientCertificate: shownCertificateSchema.nullable().meta({
    description: 'Certificate that its connections identify themselves with (mutual TLS); null for none.',
  }),
  rateLimit: z.int().nullable().meta({ description: 'Most requests per second that it gets; null for no limit.' }),
  secret: z.enum(SECRET_SOURCES).meta({
    description: 'Whether its requests are signed with the secrets of the `entity` or with its `own`.',
  }),
  webhooks: count.meta({ description: 'Number of webhooks that have this URL.' }),
  suspendedWebhooks: count.meta({ description: 'Number of them that are suspended.' }),
  waiting: count.meta({ description: 'Number of deliveries that wait to be sent to this URL.' }),
  lastSequence: count.meta({ description: 'The highest sequence number so far; 0 before the first delivery.' }),
  dateFailingSince: z.int().nullable().meta({
    description: 'Since when a webhook of it has had failures only, in Unix seconds; null if none has.',
  }),
  lastStatusCode: z.int().nullable().meta({
    description: 'While it fails, the HTTP status of a last attempt; null when there was no complete response.',
  }),
  lastError: z
    .string()
    .nullable()
    .meta({ description: 'While it fails, why a last attempt got no complete response, if it did not.' }),
  dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
};

const exampleEndpoint = {
  endpointId: 'ep_0f9c2a6e0b17d3',
  postUrl: 'https://example.com/hooks/paybell',
  name: 'Billing',
  state: 'active',
  ordering: 'agreement',
  paused: false,
  headerNames: ['authorization'],
  clientCertificate: null,
  rateLimit: 50,
  secret: 'entity',
  webhooks: 7,
  suspendedWebhooks: 0,
  waiting: 3,
  lastSequence: 8412,
  dateFailingSince: null,
  lastStatusCode: null,
  lastError: null,
  dateCreated: 1763168400,
};

export const endpointSchema = z.strictObject(endpointFields).meta({
  id: 'Endpoint',
  description: 'One URL of the entity, with all webhooks that have it.',
  example: exampleEndpoint,
});

export type Endpoint = z.output<typeof endpointSchema>;

export const oldestStuckSchema = z
  .strictObject({
    agreementId: z.string().meta({ description: 'The agreement.' }),
    deliveryId: z.string().meta({ description: 'Its first delivery, which the others wait for.' }),
    attempts: count.meta({ description: 'Number of attempts of that delivery so far.' }),
    waiting: count.meta({ description: 'Number of deliveries that wait behind it.' }),
    dateCreated: z.int().meta({ description: 'When the event of that delivery was accepted, in Unix seconds.' }),
  })
  .meta({ id: 'OldestStuck', description: 'An agreement whose deliveries wait for their first.' });

export type OldestStuck = z.output<typeof oldestStuckSchema>;

export const endpointDetailSchema = z
  .strictObject({
    ...endpointFields,
    oldestStuck: oldestStuckSchema.nullable().meta({
      description: 'With `ordering`, the agreement that has waited longest; null if no delivery waits for another.',
    }),
  })
  .meta({
    id: 'EndpointDetail',
    description: 'An endpoint, with the agreement that keeps others of the same waiting.',
    example: {
      ...exampleEndpoint,
      oldestStuck: {
        agreementId: 'agr_7012',
        deliveryId: 'dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
        attempts: 4,
        waiting: 2,
        dateCreated: 1763168400,
      },
    },
  });

export type EndpointDetail = z.output<typeof endpointDetailSchema>;

export const endpointListSchema = z
  .strictObject({
    totalResults: count.meta({ description: 'Number of all matching endpoints, on all pages.' }),
    endpoints: z.array(endpointSchema),
  })
  .meta({ id: 'EndpointList', example: { totalResults: 1, endpoints: [exampleEndpoint] } });

export type EndpointList = z.output<typeof endpointListSchema>;

export const endpointListQuerySchema = z.strictObject({
  postUrl: exactText({
    description: 'Only endpoints whose URL begins with this text.',
    example: 'https://example.com/',
  }),
  host: exactText({
    description: 'Only endpoints on this host, whatever their port. Case does not matter.',
    example: 'example.com',
  }),
  state: oneOf(ENDPOINT_STATES, { description: 'Only endpoints in this state.' }),
  ...pagingFields(['postUrl', 'waiting', 'lastSequence']),
});

export type EndpointListQuery = z.output<typeof endpointListQuerySchema>;

/** The setting that restricts header names. */
export type EndpointRules = { signatureHeader: string | undefined };

const nameRule = `must be a text of 1 to ${MAX_ENDPOINT_NAME_LENGTH} characters without control characters, or null`;
const rateRule = `must be a whole number of requests per second from 1 to ${MAX_RATE_LIMIT}, or null for no limit`;
const headersRule = 'must be an object of header names and their values; null as a value removes the header';

function headersSchema({ signatureHeader }: EndpointRules) {
  const rule = (broken: (text: string) => string | null) => (text: string, context: z.RefinementCtx) => {
    const message = broken(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  };
  const name = z.string().superRefine(rule((text) => headerNameError(text, signatureHeader)));
  const value = z.string({ error: 'must be a text, or null to remove the header' }).superRefine(rule(headerValueError));
  const error: z.core.$ZodErrorMap = (issue) => (issue.code === 'invalid_key' ? issue.issues[0]?.message : headersRule);
  return z
    .record(name, value.nullable(), { error })
    .superRefine((headers, context) => {
      const seen = new Set<string>();
      for (const given of Object.keys(headers)) {
        const message = 'is given more than once; case does not matter in names, and _ counts as -';
        if (seen.has(headerKey(given))) context.addIssue({ code: 'custom', path: [given], message });
        seen.add(headerKey(given));
      }
    })
    .meta({
      description:
        `Fixed headers of every request, for example for a gateway: at most ${MAX_HEADERS}, each value at most ` +
        `${MAX_HEADER_VALUE_BYTES} bytes, all together at most ${MAX_HEADERS_BYTES}. Headers that are not mentioned stay ` +
        'as they are; null removes one. In names, case does not matter and `_` counts as `-`. Values are stored ' +
        'encrypted and never returned.',
      example: { authorization: 'Bearer 3f9a…', 'x-old': null },
    });
}

const pem = (maxLength: number, what: string) => {
  const error = `must be ${what} in PEM, of at most ${maxLength} characters`;
  return z.string({ error }).min(1, { error }).max(maxLength, { error });
};

const certificateSchema = z
  .strictObject(
    {
      certificate: pem(MAX_CERTIFICATE_LENGTH, 'certificates').meta({
        description: 'The certificate in PEM, then those that issued it, up to the one that the receiver trusts.',
      }),
      privateKey: pem(MAX_PRIVATE_KEY_LENGTH, 'a private key').meta({
        description: 'Its private key in PEM, without a passphrase.',
      }),
    },
    { error: 'must be an object with certificate and privateKey, or null to remove the certificate' },
  )
  .nullable()
  .meta({
    description:
      'Certificate that connections to this URL identify themselves with (mutual TLS); null removes it. Only for URLs with ' +
      'https. It is stored encrypted and never returned.',
    example: { certificate: '-----BEGIN CERTIFICATE-----…', privateKey: '-----BEGIN PRIVATE KEY-----…' },
  });

/** Only the fields that are given change. */
export function endpointUpdateSchema(rules: EndpointRules) {
  return z
    .strictObject(
      {
        name: z
          .string({ error: nameRule })
          .regex(new RegExp(`^[^\\u0000-\\u001f\\u007f-\\u009f]{1,${MAX_ENDPOINT_NAME_LENGTH}}$`), { error: nameRule })
          .nullable()
          .meta({ description: 'A name for people; null removes it.' }),
        ordering: z
          .enum(ORDERINGS, { error: `must be one of ${ORDERINGS.join(', ')}` })
          .meta({ description: 'Whether the events of one agreement are sent one after another.' }),
        paused: z
          .boolean({ error: 'must be true or false' })
          .meta({ description: '`true` holds its deliveries, `false` sends them.' }),
        headers: headersSchema(rules),
        clientCertificate: certificateSchema,
        rateLimit: z
          .int({ error: rateRule })
          .min(1, { error: rateRule })
          .max(MAX_RATE_LIMIT, { error: rateRule })
          .nullable()
          .meta({ description: 'Most requests per second; null for no limit.' }),
        secret: z.enum(SECRET_SOURCES, { error: `must be one of ${SECRET_SOURCES.join(', ')}` }).meta({
          description:
            '`own` creates a signing secret for this endpoint, `entity` returns to the entity’s secrets. Requests ' +
            'are signed with both for 24 hours. Needs the permission `secrets:write`.',
        }),
      },
      { error: 'the body must be a JSON object' },
    )
    .partial()
    .refine((body) => Object.keys(body).length > 0, {
      error: 'give at least one field to change',
      // An unknown field is reported alone.
      when: ({ issues }) => issues.length === 0,
    })
    .meta({ id: 'EndpointUpdate', example: { name: 'Billing', ordering: 'agreement' } });
}

export type EndpointUpdate = z.output<ReturnType<typeof endpointUpdateSchema>>;

export const endpointSecretListSchema = z
  .strictObject({
    totalResults: count,
    source: z.enum(SECRET_SOURCES).meta({
      description: '`entity` if new requests are signed with the secrets of the entity, `own` if with these.',
    }),
    secrets: z.array(signingSecretSchema).max(MAX_SECRETS_IN_FORCE),
    dateEntitySecretsExpire: z.int().nullable().meta({
      description:
        'Until when requests are also signed with the secrets of the entity; null if they are not, or always.',
    }),
  })
  .meta({
    id: 'EndpointSecretList',
    description: 'The active signing secrets of one endpoint alone, newest first.',
    example: {
      totalResults: 1,
      source: 'own',
      secrets: [
        {
          secretId: 'sec_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
          secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
          importedText: null,
          dateCreated: 1763168400,
          dateExpires: null,
        },
      ],
      dateEntitySecretsExpire: 1763254800,
    },
  });

export type EndpointSecretList = z.output<typeof endpointSecretListSchema>;
