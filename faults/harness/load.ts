import type { Client } from '../../test/support/service.ts';

export type Rejection = { readonly status: number; readonly retryAfter: string | null };

type LoadOptions = {
  /** The beginning of every event id; each load of a trial has another. */
  prefix: string;
  concurrency?: number;
  most?: number;
  /** Between a response and the next request of the same sender. */
  pauseMs?: number;
};

const REQUEST_TIMEOUT_MS = 30_000;
/** A sender whose request failed waits this long, so that an outage does not cause a flood of requests. */
const AFTER_REJECTION_MS = 25;

/** The key order, an integer beyond 2^53 and two spellings of a letter: parsing and rewriting would change the bytes. */
export function bodyOf(eventId: string): string {
  return `{"eventId": "${eventId}","networkId":1,"event":"LatePayment","z":1e2,"amount":123456789012345678901234567890,"1":"\\u00fc ü","0":null}`;
}

/** Sends events as a payment system does: several at a time, until it is stopped. */
export class Load {
  readonly acknowledged = new Set<string>();
  readonly rejections: Rejection[] = [];
  /** Ids of events without a response: the service may or may not have accepted them. */
  readonly withoutResponse: string[] = [];
  readonly ended: Promise<void>;
  #next = 0;
  #stopped = false;

  constructor(
    private readonly clients: readonly Client[],
    private readonly options: LoadOptions,
  ) {
    const { concurrency = 16 } = options;
    this.ended = Promise.all(Array.from({ length: concurrency }, () => this.#work())).then(() => undefined);
  }

  get prefix(): string {
    return this.options.prefix;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.ended;
  }

  async #work(): Promise<void> {
    const { prefix, most = 20_000, pauseMs = 0 } = this.options;
    while (!this.#stopped && this.#next < most) {
      const index = this.#next++;
      const eventId = `${prefix}-${index}`;
      const accepted = await this.#send(this.clients[index % this.clients.length], eventId);
      if (!accepted) await Bun.sleep(AFTER_REJECTION_MS);
      else if (pauseMs > 0) await Bun.sleep(pauseMs);
    }
  }

  async #send(client: Client | undefined, eventId: string): Promise<boolean> {
    const response = await Promise.race([
      client?.request('POST', '/events', bodyOf(eventId)),
      Bun.sleep(REQUEST_TIMEOUT_MS),
    ]).catch(() => undefined);
    if (response === undefined) this.withoutResponse.push(eventId);
    else if (response.ok) this.acknowledged.add(eventId);
    else this.rejections.push({ status: response.status, retryAfter: response.headers.get('retry-after') });
    await response?.arrayBuffer().catch(() => undefined);
    return response?.ok === true;
  }
}

/** During an outage the service has to respond with 503 and `Retry-After`; every other response is a violation. */
export function wrongRejections(rejections: readonly Rejection[]): string[] {
  const wrong = rejections.filter(
    ({ status, retryAfter }) => status !== 503 || !/^[1-9][0-9]*$/.test(retryAfter ?? ''),
  );
  const kinds = new Set(wrong.map(({ status, retryAfter }) => `${status} with Retry-After ${retryAfter}`));
  return [...kinds].map((kind) => `an event was rejected with ${kind} instead of 503 with Retry-After`);
}
