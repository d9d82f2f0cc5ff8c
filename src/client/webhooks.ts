import { OPERATIONS } from './operations.ts';
import { allPages } from './pages.ts';
import type { CallOptions, Transport } from './transport.ts';
import type {
  Count,
  Coverage,
  NoticeUrl,
  Registration,
  TestAnswer,
  Webhook,
  WebhookHealth,
  WebhookList,
  WebhookListQuery,
  WebhookMatch,
  WebhookUpdate,
} from './types.ts';

/** With the tag of what was read, to change it only if nobody else has meanwhile. */
export type TaggedWebhook = { webhook: Webhook; etag: string };

export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: WebhookListQuery = {}, options?: CallOptions): Promise<WebhookList> {
    return this.#transport.call(OPERATIONS.listWebhooks, { query }, options);
  }

  /** Every webhook that matches, page after page: `for await (const webhook of client.webhooks.listAll())`. */
  listAll(query: WebhookListQuery = {}, options?: CallOptions): AsyncGenerator<Webhook, void, undefined> {
    const read = async (asked: WebhookListQuery, given: CallOptions) => {
      const { totalResults, webhooks } = await this.list(asked, given);
      return { totalResults, items: webhooks };
    };
    return allPages(read, ({ webhookId }) => webhookId, query, options);
  }

  /** One for each pair of network and event; what is registered already comes back as it is. */
  register(registration: Registration, options?: CallOptions): Promise<WebhookList> {
    return this.#transport.call(OPERATIONS.registerWebhooks, { json: registration }, options);
  }

  get(webhookId: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call(OPERATIONS.readWebhook, { id: webhookId }, options);
  }

  /** With its tag for `ifMatch`. */
  async getTagged(webhookId: string, options: CallOptions = {}): Promise<TaggedWebhook> {
    const sent = { id: webhookId };
    const { data, headers } = await this.#transport.callWithHeaders<Webhook>(OPERATIONS.readWebhook, sent, options);
    return { webhook: data, etag: headers.get('etag') ?? '*' };
  }

  change(webhookId: string, update: WebhookUpdate, options?: CallOptions & { ifMatch?: string }): Promise<Webhook> {
    const sent = { id: webhookId, json: update, ifMatch: options?.ifMatch };
    return this.#transport.call(OPERATIONS.updateWebhook, sent, options);
  }

  /** Final, and it cancels every post that was not sent yet. */
  delete(webhookId: string, options?: CallOptions & { ifMatch?: string }): Promise<void> {
    return this.#transport.call(OPERATIONS.deleteWebhook, { id: webhookId, ifMatch: options?.ifMatch }, options);
  }

  /** Moves all that match, all or none; at least one filter is needed. */
  changeMatching(match: WebhookMatch, update: WebhookUpdate, options?: CallOptions): Promise<Count> {
    return this.#transport.call(OPERATIONS.updateWebhooks, { query: match, json: update }, options);
  }

  /** How many `changeMatching` would move. */
  countChanging(match: WebhookMatch, update: WebhookUpdate, options?: CallOptions): Promise<Count> {
    const query = { ...match, dryRun: true };
    return this.#transport.call(OPERATIONS.updateWebhooks, { query, json: update }, options);
  }

  /** Deletes all that match, all or none; at least one filter is needed. */
  deleteMatching(match: WebhookMatch, options?: CallOptions): Promise<Count> {
    return this.#transport.call(OPERATIONS.deleteWebhooks, { query: match }, options);
  }

  /** How many `deleteMatching` would delete. */
  countDeleting(match: WebhookMatch, options?: CallOptions): Promise<Count> {
    return this.#transport.call(OPERATIONS.deleteWebhooks, { query: { ...match, dryRun: true } }, options);
  }

  /** One marked sample post, now; the answer says what came of it. */
  sendTest(webhookId: string, options?: CallOptions): Promise<TestAnswer> {
    return this.#transport.call(OPERATIONS.testWebhook, { id: webhookId }, options);
  }

  health(webhookId: string, options?: CallOptions): Promise<WebhookHealth> {
    return this.#transport.call(OPERATIONS.readWebhookHealth, { id: webhookId }, options);
  }

  /** Back into service; what was held for it is sent. */
  resume(webhookId: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call(OPERATIONS.resumeWebhook, { id: webhookId }, options);
  }

  /** Every network with every event, and how many are registered for each. */
  coverage(options?: CallOptions): Promise<Coverage> {
    return this.#transport.call(OPERATIONS.readCoverage, {}, options);
  }

  noticeUrl(options?: CallOptions): Promise<NoticeUrl> {
    return this.#transport.call(OPERATIONS.readNoticeUrl, {}, options);
  }

  /** Where a notice goes when a webhook is suspended; null for nowhere. */
  setNoticeUrl(noticeUrl: string | null, options?: CallOptions): Promise<NoticeUrl> {
    return this.#transport.call(OPERATIONS.setNoticeUrl, { json: { noticeUrl } }, options);
  }
}
