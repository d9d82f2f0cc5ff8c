import { z } from 'zod';
import { EVENT_KINDS } from '../domain/event-kinds.ts';
import { MAX_NETWORK_ID } from '../domain/networks.ts';
import { postUrlError } from '../domain/post-url.ts';
import { exactText, oneOf, oneOfOr, pagingFields, wholeNumber } from './list-query.ts';

/** More in one request would hold the entity's lock for too long. */
export const MAX_WEBHOOKS_PER_REQUEST = 1_000;

/** So many receivers of one (network, event) are enough; it bounds the fan-out of one event. */
export const MAX_WEBHOOKS_PER_CELL = 1_000;

const exampleWebhook = {
  webhookId: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  networkId: 8453,
  event: 'TransferFinalized',
  postUrl: 'https://example.com/hooks/paybell',
  dateCreated: 1763168400,
};

/** The five fields of the contract, always all of them and no others. */
export const webhookSchema = z
  .strictObject({
    webhookId: z.string().meta({ description: 'Unique identifier of the webhook.' }),
    networkId: z.int().min(0).max(MAX_NETWORK_ID).meta({ description: 'Network the webhook applies to.' }),
    event: z.string().meta({ description: 'Event kind; may be outside the seven of the filter.' }),
    postUrl: z.string().meta({ description: 'URL that receives the posts, exactly as it was given.' }),
    dateCreated: z.int().meta({ description: 'Creation time, Unix seconds.' }),
  })
  .meta({
    id: 'Webhook',
    description: 'One registration: an event kind and a network, bound to a URL.',
    example: exampleWebhook,
  });

export type Webhook = z.output<typeof webhookSchema>;

/** In the order in which responses and files have them. */
export const WEBHOOK_FIELDS = webhookSchema.keyof().options;

export const webhookListSchema = z
  .strictObject({
    totalResults: z.int().min(0).meta({ description: 'Count of all matches, whatever the page.' }),
    webhooks: z.array(webhookSchema).max(MAX_WEBHOOKS_PER_REQUEST),
  })
  .meta({
    id: 'WebhookList',
    description: 'A page of webhooks and the count of all that match.',
    example: { totalResults: 1, webhooks: [exampleWebhook] },
  });

export type WebhookList = z.output<typeof webhookListSchema>;

export const webhookFilterFields = {
  webhookId: exactText({ description: 'Only the webhook with this identifier.' }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only webhooks for this network.', example: 8453 }),
  event: oneOf(EVENT_KINDS, { description: 'Only webhooks for this event.' }),
};

export const webhookListQuerySchema = z.strictObject({
  ...webhookFilterFields,
  ...pagingFields(['dateCreated', 'postUrl']),
});

export type WebhookListQuery = z.output<typeof webhookListQuerySchema>;

const FILTERS = ['webhookId', 'networkId', 'event', 'postUrl'] as const;

/** The filters of a bulk change; with none it would rewrite everything, and that is never meant. */
export const webhookMatchSchema = z
  .strictObject({
    ...webhookFilterFields,
    postUrl: exactText({ description: 'Only webhooks with exactly this URL.', example: 'https://example.com/old' }),
    dryRun: oneOfOr('false', ['true', 'false'], { description: '`true` only counts what would change.' }),
  })
  .refine((query) => FILTERS.some((name) => query[name] !== undefined), {
    path: [FILTERS.join(', ')],
    error: 'give at least one of these filters, so that nothing is changed by accident',
    when: () => true,
  });

export type WebhookMatch = Pick<z.output<typeof webhookMatchSchema>, (typeof FILTERS)[number]>;

export const countSchema = z
  .strictObject({ totalResults: z.int().min(0).meta({ description: 'How many changed, or would change.' }) })
  .meta({ id: 'Count', example: { totalResults: 12 } });

/** What the settings decide about a registration. */
export type RegistrationRules = {
  allowInsecureTargets: boolean;
  networks: readonly number[];
  events: readonly string[];
};

export function postUrlSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets'>) {
  return z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((value, context) => {
      const fault = postUrlError(value, rules);
      if (fault !== null) context.addIssue({ code: 'custom', message: fault });
    })
    .meta({
      type: 'string',
      format: 'uri',
      maxLength: 2048,
      description: 'Absolute https URL on a public host. Kept and echoed exactly as given.',
      example: 'https://example.com/hooks/paybell',
    });
}

/** The one thing about a webhook that may change. */
export function webhookUpdateSchema(rules: Pick<RegistrationRules, 'allowInsecureTargets'>) {
  return z
    .strictObject({ postUrl: postUrlSchema(rules) }, { error: 'the body must be a JSON object' })
    .meta({ id: 'WebhookUpdate' });
}

/** Written out, because the rules of its schema come from the settings. */
export type Registration = { postUrl: string; networkIds?: number[] | undefined; events?: string[] | undefined };

export function registrationSchema(rules: RegistrationRules) {
  const networkRule = `must be a whole number from 0 to ${MAX_NETWORK_ID}`;
  const eventRule = `must be one of ${rules.events.join(', ')} (names are case-sensitive)`;
  return z
    .strictObject(
      {
        postUrl: postUrlSchema(rules),
        networkIds: z
          .array(z.int({ error: networkRule }).min(0, { error: networkRule }).max(MAX_NETWORK_ID), {
            error: 'must be an array of network ids',
          })
          .max(MAX_WEBHOOKS_PER_REQUEST, { error: `must name at most ${MAX_WEBHOOKS_PER_REQUEST} networks` })
          .optional()
          .meta({ description: 'Networks to register for; absent or empty means all known ones.', example: [1, 8453] }),
        events: z
          .array(z.enum(rules.events, { error: eventRule }), { error: 'must be an array of event kinds' })
          .max(MAX_WEBHOOKS_PER_REQUEST, { error: `must name at most ${MAX_WEBHOOKS_PER_REQUEST} events` })
          .optional()
          .meta({
            description: 'Event kinds to register for; absent or empty means all known ones.',
            example: ['TransferFinalized', 'LatePayment'],
          }),
      },
      { error: 'the body must be a JSON object' },
    )
    .refine((body) => namesOf(body, rules).size <= MAX_WEBHOOKS_PER_REQUEST, {
      error: `networks times events must be at most ${MAX_WEBHOOKS_PER_REQUEST}; register in several requests`,
    })
    .meta({ id: 'Registration' });
}

export type NetworkEvent = { networkId: number; event: string };

/** Every pair of network and event that a registration asks for, each once however often it is named. */
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
            webhooks: z.int().min(0).meta({ description: 'How many are registered; 0 is a gap.' }),
            suspended: z.int().min(0).meta({ description: 'How many of them are suspended.' }),
          }),
        ),
      }),
    ),
  })
  .meta({
    id: 'Coverage',
    description: 'Every known network with every known event, and any other that is registered.',
    example: { networks: [{ networkId: 8453, events: [{ event: 'LatePayment', webhooks: 1, suspended: 0 }] }] },
  });

export type Coverage = z.output<typeof coverageSchema>;
