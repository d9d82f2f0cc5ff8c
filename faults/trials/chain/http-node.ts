import type { ModelChain } from '../../../test/support/chain/model-chain.ts';
import { type Faults, ModelNode } from '../../../test/support/chain/model-node.ts';
import type { Random } from '../../../test/support/random.ts';

/** A node of a model chain on loopback. It counts what it is asked. */
export class HttpNode implements AsyncDisposable {
  /** Polls that began with a request to this node, those that it answered with 429 apart. */
  looks = 0;
  /** Requests for logs. */
  reads = 0;
  /** Called with a response before it is sent. */
  onResponse: ((text: string) => void) | null = null;
  readonly #node: ModelNode;
  readonly #server;

  constructor(chain: ModelChain, faults: Partial<Faults>, random: Random) {
    this.#node = new ModelNode(chain, faults, random);
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: (request) => this.#respond(request),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/`;
  }

  async #respond(request: Request): Promise<Response> {
    const body = await request.text();
    const response = await this.#node.fetch(this.url, { method: 'POST', body });
    if (response.ok && body.includes('"finalized"')) this.looks++;
    if (response.ok && body.includes('"eth_getLogs"')) this.reads++;
    const text = await response.text();
    this.onResponse?.(text);
    return new Response(text, response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}
