import { BoundedMap } from '../../../bounded-map.ts';
import { ProblemError } from '../../../client/errors.ts';
import type { ListenRequest, ListenResult } from '../../../client/listen/listen-sessions.ts';
import type { Paybell } from '../../../client/paybell.ts';
import { MAX_ERROR_LENGTH, MAX_RESPONSE_LENGTH } from '../../../contract/listen/listen-session.ts';
import { forwardRequest } from '../forward.ts';

/** The result of a request at the program. */
export type Forwarded = Pick<ListenResult, 'statusCode' | 'error' | 'durationMs' | 'response'>;

/** Twice as many as a session keeps. */
const MAX_UNREPORTED = 2_000;

type Unreported = { token: string; readonly result: Promise<Forwarded> };

type Options = {
  readonly client: Pick<Paybell, 'listenSessions'>;
  readonly target: string;
  /** Called once for each request, when the program has responded. */
  readonly onResult: (request: ListenRequest, result: Forwarded) => void;
};

/**
 * Sends the requests of a session to the program and reports the results. If a report fails, the server hands the
 * request out again. The forwarder then repeats only the report, so that the program does not get the request twice.
 */
export class Forwarder {
  readonly #unreported = new BoundedMap<string, Unreported>(MAX_UNREPORTED);

  constructor(private readonly options: Options) {}

  /** Rejects only if the result cannot be reported now; the server hands the request out again. */
  async forward(sessionId: string, request: ListenRequest): Promise<void> {
    const { deliveryId, token } = request;
    const known = this.#unreported.get(deliveryId);
    const unreported = known ?? { token, result: this.#send(request) };
    unreported.token = token;
    if (known === undefined) this.#unreported.set(deliveryId, unreported);
    const result = await unreported.result;
    try {
      await this.options.client.listenSessions.report(sessionId, { deliveryId, token, ...result });
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      // Either the result was reported before, or the request has a new token that has not arrived yet. So the result
      // is kept.
      if (error.status === 409) return;
      // With 404, the server has dropped the request.
      if (error.status !== 404) throw error;
    }
    if (unreported.token === token) this.#unreported.delete(deliveryId);
  }

  async #send(request: ListenRequest): Promise<Forwarded> {
    const startedAtMs = performance.now();
    const body = new TextEncoder().encode(request.body);
    const answer = await forwardRequest(this.options.target, new Headers(request.headers), body);
    const durationMs = Math.round(performance.now() - startedAtMs);
    const result =
      'error' in answer
        ? { error: answer.error.slice(0, MAX_ERROR_LENGTH) || 'no response', durationMs }
        : { statusCode: answer.status, durationMs, response: beginningOf(answer.body) };
    this.options.onResult(request, result);
    return result;
  }
}

/** Decodes as a stream, so that a character split by the cut is left out instead of replaced. */
function beginningOf(body: Uint8Array): string {
  return new TextDecoder().decode(body.subarray(0, MAX_RESPONSE_LENGTH), { stream: true });
}
