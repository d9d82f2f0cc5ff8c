import type { Client } from '../test/support/service.ts';

/** Events as a payment system sends them: several at a time, and on and on until it is told to stop. */

export type Refusal = { readonly status: number; readonly retryAfter: string | null };

type LoadOptions = {
  /** Begins every id, which is used once in the whole trial. */
  prefix: string;
  atATime?: number;
  most?: number;
  /** Between one answer and the next request of the same sender. */
  restMs?: number;
};

const GIVE_UP_MS = 30_000;
/** Who is refused waits a little; nobody is helped by a thousand requests a second. */
const AFTER_REFUSAL_MS = 25;

/** Key order, an integer beyond 2^53, and what JSON may escape: whatever parses and writes it anew changes its bytes. */
export function bodyOf(eventId: string): string {
  return `{"eventId": "${eventId}","networkId":1,"event":"LatePayment","z":1e2,"amount":123456789012345678901234567890,"1":"\\u00fc ü","0":null}`;
}

export class Load {
  readonly acknowledged = new Set<string>();
  readonly refusals: Refusal[] = [];
  /** Ids that got no answer: nobody promised anything for them, and nobody knows what became of them. */
  readonly unanswered: string[] = [];
  readonly ended: Promise<void>;
  #next = 0;
  #stopped = false;

  constructor(
    private readonly clients: readonly Client[],
    private readonly options: LoadOptions,
  ) {
    const { atATime = 16 } = options;
    this.ended = Promise.all(Array.from({ length: atATime }, () => this.#work())).then(() => undefined);
  }

  get prefix(): string {
    return this.options.prefix;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.ended;
  }

  async #work(): Promise<void> {
    const { prefix, most = 20_000, restMs = 0 } = this.options;
    while (!this.#stopped && this.#next < most) {
      const index = this.#next++;
      const eventId = `${prefix}-${index}`;
      const accepted = await this.#send(this.clients[index % this.clients.length], eventId);
      if (!accepted) await Bun.sleep(AFTER_REFUSAL_MS);
      else if (restMs > 0) await Bun.sleep(restMs);
    }
  }

  async #send(client: Client | undefined, eventId: string): Promise<boolean> {
    const answer = await Promise.race([
      client?.request('POST', '/events', bodyOf(eventId)),
      Bun.sleep(GIVE_UP_MS),
    ]).catch(() => undefined);
    if (answer === undefined) this.unanswered.push(eventId);
    else if (answer.ok) this.acknowledged.add(eventId);
    else this.refusals.push({ status: answer.status, retryAfter: answer.headers.get('retry-after') });
    await answer?.arrayBuffer().catch(() => undefined);
    return answer?.ok === true;
  }
}

/** An outage is said as one: 503, and when to come back. */
export function wrongRefusals(refusals: readonly Refusal[]): string[] {
  const wrong = refusals.filter(({ status, retryAfter }) => status !== 503 || !/^[1-9][0-9]*$/.test(retryAfter ?? ''));
  const kinds = new Set(wrong.map(({ status, retryAfter }) => `${status} with Retry-After ${retryAfter}`));
  return [...kinds].map((kind) => `an event was refused with ${kind} instead of 503 with Retry-After`);
}
