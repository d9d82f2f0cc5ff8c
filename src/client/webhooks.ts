import type { z } from 'zod';
import type { healthSchema, noticeUrlSchema, testResponseSchema } from '../contract/webhook-health.ts';
import type {
  newWebhookOptionsSchema,
  replacedWebhookOptionsSchema,
  webhookOptionsChangeSchema,
  webhookOptionsReplacementSchema,
  webhookOptionsSchema,
} from '../contract/webhooks/options.ts';
import type {
  countSchema,
  coverageSchema,
  registrationSchema,
  webhookBulkUpdateSchema,
  webhookListQuerySchema,
  webhookListSchema,
  webhookMatchSchema,
  webhookSchema,
  webhookUpdateSchema,
} from '../contract/webhooks.ts';
import { allPages } from './pages.ts';
import type { Body, Match, Query } from './schema-types.ts';
import type { CallOptions, Transport } from './transport.ts';

export type Webhook = z.output<typeof webhookSchema>;
export type WebhookList = z.output<typeof webhookListSchema>;
export type WebhookListQuery = Query<typeof webhookListQuerySchema>;
export type WebhookMatch = Match<typeof webhookMatchSchema>;
export type WebhookUpdate = Body<typeof webhookUpdateSchema>;
export type WebhookBulkUpdate = Body<typeof webhookBulkUpdateSchema>;
export type WebhookOptions = z.output<typeof webhookOptionsSchema>;
export type ReplacedWebhookOptions = z.output<typeof replacedWebhookOptionsSchema>;
export type WebhookOptionsReplacement = z.input<typeof webhookOptionsReplacementSchema>;
export type WebhookOptionsChange = z.input<typeof webhookOptionsChangeSchema>;
export type NewWebhookOptions = z.input<typeof newWebhookOptionsSchema>;
export type Registration = Body<typeof registrationSchema>;
export type WebhookHealth = z.output<typeof healthSchema>;
export type TestAnswer = z.output<typeof testResponseSchema>;
export type NoticeUrl = z.output<typeof noticeUrlSchema>;
export type Coverage = z.output<typeof coverageSchema>;
export type Count = z.output<typeof countSchema>;

/** A webhook with its entity tag: given as `ifMatch`, the tag makes a change fail if another one came first. */
export type TaggedWebhook = { webhook: Webhook; etag: string };

type IfMatch = { ifMatch?: string };

const ALL = '/webhooks/classic';
const ONE = '/webhooks/classic/{webhookId}';

export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: WebhookListQuery = {}, options?: CallOptions): Promise<WebhookList> {
    return this.#transport.call({ method: 'GET', path: ALL, query }, options);
  }

  /** Every matching webhook, page after page: `for await (const webhook of client.webhooks.listAll())`. */
  listAll(query: WebhookListQuery = {}, options?: CallOptions): AsyncGenerator<Webhook, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'webhooks', 'webhookId', query, options);
  }

  /** Registers one webhook for each pair of network and event. Idempotent: existing webhooks are returned unchanged. */
  register(registration: Registration, options?: CallOptions): Promise<WebhookList> {
    return this.#transport.call({ method: 'POST', path: ALL, json: registration }, options);
  }

  get(webhookId: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call({ method: 'GET', path: ONE, id: webhookId }, options);
  }

  /** A webhook with the tag that `ifMatch` takes. */
  async getTagged(webhookId: string, options?: CallOptions): Promise<TaggedWebhook> {
    const request = { method: 'GET', path: ONE, id: webhookId } as const;
    const { data, headers } = await this.#transport.exchange<Webhook>(request, options);
    return { webhook: data, etag: headers.get('etag') ?? '*' };
  }

  change(webhookId: string, update: WebhookUpdate, options?: CallOptions & IfMatch): Promise<Webhook> {
    const { ifMatch } = options ?? {};
    // A repetition would no longer match, because of the change that the first attempt has made.
    const isIdempotent = ifMatch === undefined;
    const request = { method: 'PATCH', path: ONE, id: webhookId, json: update, ifMatch, isIdempotent } as const;
    return this.#transport.call(request, options);
  }

  /** Deletes the webhook permanently and cancels its unsent deliveries. */
  delete(webhookId: string, options?: CallOptions & IfMatch): Promise<void> {
    const { ifMatch } = options ?? {};
    return this.#transport.call({ method: 'DELETE', path: ONE, id: webhookId, ifMatch, isDeletion: true }, options);
  }

  /** Changes all matching webhooks, or none. At least one filter is required. */
  changeMatching(match: WebhookMatch, update: WebhookBulkUpdate, options?: CallOptions): Promise<Count> {
    return this.#transport.call({ method: 'PATCH', path: ALL, query: match, json: update }, options);
  }

  /** How many webhooks `changeMatching` would change. */
  countChanging(match: WebhookMatch, update: WebhookBulkUpdate, options?: CallOptions): Promise<Count> {
    const query = { ...match, dryRun: true };
    return this.#transport.call({ method: 'PATCH', path: ALL, query, json: update }, options);
  }

  /** Deletes all matching webhooks, or none. At least one filter is required. */
  deleteMatching(match: WebhookMatch, options?: CallOptions): Promise<Count> {
    return this.#transport.call({ method: 'DELETE', path: ALL, query: match }, options);
  }

  /** How many webhooks `deleteMatching` would delete. */
  countDeleting(match: WebhookMatch, options?: CallOptions): Promise<Count> {
    return this.#transport.call({ method: 'DELETE', path: ALL, query: { ...match, dryRun: true } }, options);
  }

  /** Which events the webhook receives beyond its network and event, by their payloads and their finality. */
  options(webhookId: string, options?: CallOptions): Promise<WebhookOptions> {
    return this.#transport.call({ method: 'GET', path: `${ONE}/options`, id: webhookId }, options);
  }

  /** Applies to events that are accepted from now on. Without `finality`, the webhook gets the default of its event. */
  replaceOptions(
    webhookId: string,
    replacement: WebhookOptionsReplacement,
    options?: CallOptions,
  ): Promise<ReplacedWebhookOptions> {
    return this.#transport.call({ method: 'PUT', path: `${ONE}/options`, id: webhookId, json: replacement }, options);
  }

  /** Sends one request with a sample event, marked as a test, and returns its outcome. */
  sendTest(webhookId: string, options?: CallOptions): Promise<TestAnswer> {
    const request = { method: 'POST', path: `${ONE}/test`, id: webhookId, isIdempotent: false } as const;
    return this.#transport.call(request, options);
  }

  health(webhookId: string, options?: CallOptions): Promise<WebhookHealth> {
    return this.#transport.call({ method: 'GET', path: `${ONE}/health`, id: webhookId }, options);
  }

  /** Resumes a suspended webhook and sends the deliveries that were held for it. */
  resume(webhookId: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call({ method: 'POST', path: `${ONE}/resume`, id: webhookId }, options);
  }

  /** The number of webhooks for each event of each network. */
  coverage(options?: CallOptions): Promise<Coverage> {
    return this.#transport.call({ method: 'GET', path: '/webhooks/coverage' }, options);
  }

  noticeUrl(options?: CallOptions): Promise<NoticeUrl> {
    return this.#transport.call({ method: 'GET', path: '/webhooks/notice-url' }, options);
  }

  /** Sets the URL that receives an alert when a webhook is suspended; null turns alerts off. */
  setNoticeUrl(noticeUrl: string | null, options?: CallOptions): Promise<NoticeUrl> {
    return this.#transport.call({ method: 'PUT', path: '/webhooks/notice-url', json: { noticeUrl } }, options);
  }
}
