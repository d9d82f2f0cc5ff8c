import { sleep } from '../../client/deadline.ts';
import { type ForwardResult, forwardRequest } from './forward.ts';
import { AttemptCounts, plannedStatus, type ResponsePlan } from './response-plan.ts';
import type { Signature, SignatureCheck } from './signature-check.ts';

/** Four times the largest event, so that no request of Paybell is too large. */
const MAX_BODY_BYTES = 1024 * 1024;
/** How long responses may take to be sent when the receiver stops. */
const DRAIN_MS = 200;
const POST_ONLY = 'This is paybell listen: it accepts POST requests.\n';

export type ReceivedRequest = {
  readonly receivedAtMs: number;
  readonly path: string;
  readonly deliveryId: string | null;
  readonly eventId: string | null;
  /** The number of this attempt of its delivery, from 1; retries and redeliveries count. */
  readonly attempt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signature: Signature;
};

export type SentResponse = {
  readonly status: number;
  /** Whether the status is a failure that --fail or --status simulates. */
  readonly simulated: boolean;
  /** Why the request could not be forwarded; null if it was forwarded, or if there was nothing to forward. */
  readonly error: string | null;
  /** Whether the sender had closed the connection before the response. */
  readonly aborted: boolean;
  readonly durationMs: number;
};

export type ReceiverOptions = {
  host: string;
  port: number;
  plan: ResponsePlan;
  delayMs: number;
  forwardTo: string | null;
  check: SignatureCheck;
  onRequest: (request: ReceivedRequest) => void;
  onResponse: (request: ReceivedRequest, response: SentResponse) => void;
};

export type Receiver = { readonly url: string; stop(): Promise<void> };

type Reply = { response: Response; simulated: boolean; error: string | null };

/** Receives requests, checks their signatures, and responds as the options say. */
export function startReceiver(options: ReceiverOptions): Receiver {
  const counts = new AttemptCounts();
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    // Bun shares ports by default, so requests could go to either of two receivers.
    reusePort: false,
    maxRequestBodySize: MAX_BODY_BYTES,
    development: false,
    fetch: async (request, { timeout }) => {
      if (request.method !== 'POST') return new Response(POST_ONLY, { status: 405, headers: { allow: 'POST' } });
      // No idle timeout: the sender decides how long it waits, and --delay may exceed Bun's default.
      timeout.call(server, request, 0);
      return receive(request, options, counts);
    },
  });
  return {
    url: server.url.href,
    stop: async () => {
      // Lets responses leave. Then closes the connections of requests that are still delayed.
      await Promise.race([server.stop(), Bun.sleep(DRAIN_MS)]);
      await server.stop(true);
    },
  };
}

async function receive(request: Request, options: ReceiverOptions, counts: AttemptCounts): Promise<Response> {
  const startedAtMs = performance.now();
  const bytes = new Uint8Array(await request.arrayBuffer());
  const deliveryId = request.headers.get('webhook-id');
  const received: ReceivedRequest = {
    receivedAtMs: Date.now(),
    path: new URL(request.url).pathname,
    deliveryId,
    eventId: request.headers.get('paybell-event-id'),
    attempt: deliveryId === null ? 1 : counts.next(deliveryId),
    headers: Object.fromEntries(request.headers),
    body: new TextDecoder().decode(bytes),
    signature: await options.check(bytes, request.headers),
  };
  options.onRequest(received);
  // The sender may have closed the connection while its signature was checked.
  if (options.delayMs > 0) await sleep(options.delayMs, request.signal);
  const { response, simulated, error } = await replyTo(received, request.headers, bytes, options);
  const durationMs = Math.round(performance.now() - startedAtMs);
  const aborted = request.signal.aborted;
  options.onResponse(received, { status: response.status, simulated, error, aborted, durationMs });
  return response;
}

async function replyTo(
  received: ReceivedRequest,
  headers: Headers,
  bytes: Uint8Array<ArrayBuffer>,
  { plan, forwardTo }: ReceiverOptions,
): Promise<Reply> {
  const status = plannedStatus(plan, received.attempt);
  if (status !== null) return { response: new Response(null, { status }), simulated: true, error: null };
  // Forwards requests with any signature, because the target checks it too.
  if (forwardTo !== null) return relay(await forwardRequest(forwardTo, headers, bytes), forwardTo);
  return { response: new Response(null, { status: received.signature.status }), simulated: false, error: null };
}

function relay(result: ForwardResult, forwardTo: string): Reply {
  if ('error' in result) {
    const error = `could not forward to ${forwardTo}: ${result.error}`;
    return { response: new Response(error, { status: 502 }), simulated: false, error };
  }
  const { status, headers, body } = result;
  // A response with one of these statuses must not have a body, not even an empty one.
  const response = new Response(STATUSES_WITHOUT_BODY.includes(status) ? null : body, { status, headers });
  return { response, simulated: false, error: null };
}

const STATUSES_WITHOUT_BODY = [204, 205, 304];
