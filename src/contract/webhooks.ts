import { z } from 'zod';
import { allowsFinality } from '../domain/chain/finality-by-amount.ts';
import { EVENT_KINDS } from '../domain/event-kinds.ts';
import { MAX_NETWORK_ID } from '../domain/networks.ts';
import { postUrlError } from '../domain/post-url.ts';
import {
  eventFilter,
  eventsFilter,
  exactText,
  oneOf,
  oneOfOr,
  pagingFields,
  wholeNumber,
  wholeNumbers,
} from './list-query.ts';
import { networkIdRule } from './values.ts';
import { MAX_WEBHOOKS_PER_REQUEST } from './webhooks/limits.ts';
import {
  finalOnly,
  type NewWebhookOptions,
  newWebhookOptionsSchema,
  type WebhookOptionsChange,
  webhookOptionsChangeSchema,
} from './webhooks/options.ts';

const exampleWebhook = {
  webhookId: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  networkId: 8453,
  event: 'TransferFinalized',
  postUrl: 'https://example.com/hooks/paybell',
  dateCreated: 1763168400,
};

/** Always all five fields, and no others. */
export const webhookSchema = z
  .strictObject({
    webhookId: z.string().meta({ description: 'Unique identifier of the webhook.' }),
    networkId: z.int().min(0).max(MAX_NETWORK_ID).meta({ description: 'Network that the webhook is registered for.' }),
    event: z.string().meta({
      description: 'Event kind that the webhook is registered for. It can be one that the filter does not accept.',
    }),
    postUrl: z.string().meta({ description: 'URL that receives the requests, exactly as it was given.' }),
    dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
  })
  .meta({
    id: 'Webhook',
    description: 'A registration of one URL for one event kind on one network.',
    example: exampleWebhook,
  });

export type Webhook = z.output<typeof webhookSchema>;

export const webhookListSchema = z
  .strictObject({
    totalResults: z.int().min(0).meta({ description: 'Number of all matching webhooks, on all pages.' }),
    webhooks: z.array(webhookSchema).max(MAX_WEBHOOKS_PER_REQUEST),
  })
  .meta({
    id: 'WebhookList',
    description: 'A page of webhooks and the number of all that match.',
    example: { totalResults: 1, webhooks: [exampleWebhook] },
  });

export type WebhookList = z.output<typeof webhookListSchema>;

const webhookFilterFields = {
  webhookId: exactText({ description: 'Only the webhook with this identifier.' }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only webhooks for this network.', example: 8453 }),
  event: oneOf(EVENT_KINDS, { description: 'Only webhooks for this event.' }),
};

export const webhookListQuerySchema = z.strictObject({
  ...webhookFilterFields,
  ...pagingFields(['dateCreated', 'postUrl']),
});

export type WebhookListQuery = z.output<typeof webhookListQuerySchema>;

const FILTERS = ['webhookId', 'networkId', 'networkIds', 'event', 'events', 'postUrl'] as const;

/** At least one filter is required, so that no request changes everything by mistake. */
export const webhookMatchSchema = z
  .strictObject({
    ...webhookFilterFields,
    networkIds: wholeNumbers(0, MAX_NETWORK_ID, {
      description: 'Only webhooks for one of these networks, separated by commas. Not together with `networkId`.',
      example: '1,8453',
    }),
    event: eventFilter({ description: 'Only webhooks for this event.' }),
    events: eventsFilter({
      description: 'Only webhooks for one of these events, separated by commas. Not together with `event`.',
    }),
    postUrl: exactText({ description: 'Only webhooks with exactly this URL.', example: 'https://example.com/old' }),
    dryRun: oneOfOr('false', ['true', 'false'], { description: '`true` only counts the webhooks that would change.' }),
  })
  .refine((query) => FILTERS.some((name) => query[name] !== undefined), {
    path: [FILTERS.join(', ')],
    error: 'give at least one of these filters, so that nothing is changed by mistake',
    when: () => true,
  })
  .refine(({ networkId, networkIds }) => networkId === undefined || networkIds === undefined, {
    path: ['networkIds'],
    error: 'cannot be given together with networkId; give one of the two',
    when: () => true,
  })
  .refine(({ event, events }) => event === undefined || events === undefined, {
    path: ['events'],
    error: 'cannot be given together with event; give one of the two',
    when: () => true,
  });

export type WebhookMatch = Pick<z.output<typeof webhookMatchSchema>, (typeof FILTERS)[number]>;

export const countSchema = z
  .strictObject({
    totalResults: z
      .int()
      .min(0)
      .meta({ description: 'Number of changed objects, or of those that would change with `dryRun`.' }),
  })
  .meta({ id: 'Count', description: 'The size of a bulk change.', example: { totalResults: 12 } });

/** The settings that restrict registrations. */
export type RegistrationRules = {
  allowInsecureTargets: boolean;
  networks: readonly number[];
  events: readonly string[];
};

export function postUrlSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets'>) {
  return z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((value, context) => {
      const error = postUrlError(value, rules);
      if (error !== null) context.addIssue({ code: 'custom', message: error });
    })
    .meta({
      type: 'string',
      format: 'uri',
      maxLength: 2048,
      description: 'Absolute https URL on a public host. It is stored and returned exactly as given.',
      example: 'https://example.com/hooks/paybell',
    });
}

/** Only the URL of a webhook can change. */
export function webhookUpdateSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets'>) {
  return z
    .strictObject({ postUrl: postUrlSchema(rules) }, { error: 'the body must be a JSON object' })
    .meta({ id: 'WebhookUpdate' });
}

/** Changes the URL, the options, or both, of all matching webhooks. */
export function webhookBulkUpdateSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets'>) {
  return z
    .strictObject(
      { postUrl: postUrlSchema(rules).optional(), options: webhookOptionsChangeSchema.optional() },
      { error: 'the body must be a JSON object' },
    )
    .refine(({ postUrl, options }) => postUrl !== undefined || options !== undefined, {
      path: ['postUrl'],
      error: 'is required, unless options is given',
    })
    .meta({ id: 'WebhookBulkUpdate' });
}

export type WebhookChanges = { postUrl?: string | undefined; options?: WebhookOptionsChange | undefined };

/** Not inferred, because its schema depends on the settings. */
export type Registration = WebhookSettings & { networkIds?: number[] | undefined; events?: string[] | undefined };

/** Settings that a registration gives to each of its webhooks. */
export type WebhookSettings = { postUrl: string; options?: NewWebhookOptions | undefined };

const OPTIONS_OF_NEW =
  'Options of each new webhook. A webhook that is registered already must have the same; to change them, replace them.';

export function registrationSchema(rules: RegistrationRules) {
  const eventRule = `must be one of ${rules.events.join(', ')} (names are case-sensitive)`;
  return z
    .strictObject(
      {
        postUrl: postUrlSchema(rules),
        networkIds: z
          .array(
            z
              .int({ error: networkIdRule })
              .min(0, { error: networkIdRule })
              .max(MAX_NETWORK_ID, { error: networkIdRule }),
            {
              error: 'must be an array of network ids',
            },
          )
          .max(MAX_WEBHOOKS_PER_REQUEST, { error: `must contain at most ${MAX_WEBHOOKS_PER_REQUEST} networks` })
          .optional()
          .meta({
            description: 'Networks to register for. Defaults to all networks of the `NETWORKS` setting.',
            example: [1, 8453],
          }),
        events: z
          .array(z.enum(rules.events, { error: eventRule }), { error: 'must be an array of event kinds' })
          .max(MAX_WEBHOOKS_PER_REQUEST, { error: `must contain at most ${MAX_WEBHOOKS_PER_REQUEST} events` })
          .optional()
          .meta({
            description: 'Event kinds to register for. Defaults to all.',
            example: ['TransferFinalized', 'LatePayment'],
          }),
        options: newWebhookOptionsSchema.optional().meta({ description: OPTIONS_OF_NEW }),
      },
      { error: 'the body must be a JSON object' },
    )
    .refine((body) => namesOf(body, rules).size <= MAX_WEBHOOKS_PER_REQUEST, {
      error: `networks times events must be at most ${MAX_WEBHOOKS_PER_REQUEST}; register in several requests`,
    })
    .superRefine((body, context) => {
      const event = eventWithoutFinality(body, rules);
      if (event !== null)
        context.addIssue({ code: 'custom', path: ['options', 'finality'], message: finalOnly(event) });
    })
    .meta({ id: 'Registration' });
}

/** An event kind of the registration that does not allow its finality. */
function eventWithoutFinality(body: Omit<Registration, 'postUrl'>, rules: RegistrationRules): string | null {
  const finality = body.options?.finality ?? null;
  if (finality === null) return null;
  return [...namesOf(body, rules).events].find((event) => !allowsFinality(event, finality)) ?? null;
}

export type NetworkEvent = { networkId: number; event: string };

/** All pairs of a network and an event in a registration, without duplicates. */
export function pairsOf(registration: Registration, rules: RegistrationRules): NetworkEvent[] {
  const { networkIds, events } = namesOf(registration, rules);
  return [...networkIds].flatMap((networkId) => [...events].map((event) => ({ networkId, event })));
}

function namesOf(body: Pick<Registration, 'networkIds' | 'events'>, rules: RegistrationRules) {
  const networkIds = new Set(body.networkIds?.length ? body.networkIds : rules.networks);
  const events = new Set(body.events?.length ? body.events : rules.events);
  return { networkIds, events, size: networkIds.size * events.size };
}

export const coverageSchema = z
  .strictObject({
    networks: z.array(
      z.strictObject({
        networkId: z.int(),
        events: z.array(
          z.strictObject({
            event: z.string(),
            webhooks: z.int().min(0).meta({
              description: 'Number of webhooks for this network and event; 0 means that nothing is registered.',
            }),
            suspended: z.int().min(0).meta({ description: 'Number of them that are suspended.' }),
            ownFinality: z.int().min(0).meta({
              description: 'Number of them with another finality than the default of the event kind.',
            }),
          }),
        ),
      }),
    ),
  })
  .meta({
    id: 'Coverage',
    description: 'The number of webhooks for every known network and event kind, and for any other that is registered.',
    example: {
      networks: [
        { networkId: 8453, events: [{ event: 'TransferProcessed', webhooks: 2, suspended: 0, ownFinality: 1 }] },
      ],
    },
  });

export type Coverage = z.output<typeof coverageSchema>;
