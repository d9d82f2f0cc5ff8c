import { forwardPost } from './forward.ts';
import { type AnswerPlan, PostCounts, plannedStatus } from './response-plan.ts';
import type { Signature, SignatureCheck } from './signature-check.ts';

/** Four times the largest event, so that what is refused is never what Paybell sent. */
const MAX_BODY_BYTES = 1024 * 1024;
/** How long an answer that was given may take to leave. */
const LEAVE_MS = 200;
/** Deaf to none: a browser that looks by gets a word on what this is. */
const WHAT_THIS_IS = 'This is paybell listen: it takes posts.\n';

export type Post = {
  readonly receivedAtMs: number;
  readonly path: string;
  readonly deliveryId: string | null;
  readonly eventId: string | null;
  /** Which post of its delivery it is, from 1; retries and redeliveries count on. */
  readonly post: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signature: Signature;
};

export type Answer = {
  readonly status: number;
  readonly onPurpose: boolean;
  /** Why what should have been passed on was not; null when it was, or was not to be. */
  readonly error: string | null;
  readonly hungUp: boolean;
  readonly durationMs: number;
};

export type ReceiverOptions = {
  host: string;
  port: number;
  plan: AnswerPlan;
  delayMs: number;
  forwardTo: string | null;
  check: SignatureCheck;
  onPost: (post: Post) => void;
  onAnswer: (post: Post, answer: Answer) => void;
};

export type Receiver = { readonly url: string; stop(): Promise<void> };

type Reply = { response: Response; onPurpose: boolean; error: string | null };

/** A receiver that shows what it gets, and answers as it is told to. */
export function startReceiver(options: ReceiverOptions): Receiver {
  const counts = new PostCounts();
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    // Said aloud: outside of development Bun shares the port otherwise, and posts would go to either of two receivers.
    reusePort: false,
    maxRequestBodySize: MAX_BODY_BYTES,
    development: false,
    fetch: async (request, { timeout }) => {
      if (request.method !== 'POST') return new Response(WHAT_THIS_IS, { status: 405, headers: { allow: 'POST' } });
      // Without end: how long to wait is the sender's choice, and a delay on purpose may be longer than Bun's own.
      timeout.call(server, request, 0);
      return receive(request, options, counts);
    },
  });
  return {
    url: server.url.href,
    stop: async () => {
      // What was answered has yet to leave; a post that is still delayed is cut off with its connection.
      await Promise.race([server.stop(), Bun.sleep(LEAVE_MS)]);
      await server.stop(true);
    },
  };
}

async function receive(request: Request, options: ReceiverOptions, counts: PostCounts): Promise<Response> {
  const startedAtMs = performance.now();
  const bytes = new Uint8Array(await request.arrayBuffer());
  const deliveryId = request.headers.get('webhook-id');
  const post: Post = {
    receivedAtMs: Date.now(),
    path: new URL(request.url).pathname,
    deliveryId,
    eventId: request.headers.get('paybell-event-id'),
    post: deliveryId === null ? 1 : counts.next(deliveryId),
    headers: Object.fromEntries(request.headers),
    body: new TextDecoder().decode(bytes),
    signature: await options.check(bytes, request.headers),
  };
  options.onPost(post);
  if (options.delayMs > 0) await delay(options.delayMs, request.signal);
  const { response, onPurpose, error } = await replyTo(post, request.headers, bytes, options);
  const durationMs = Math.round(performance.now() - startedAtMs);
  options.onAnswer(post, { status: response.status, onPurpose, error, hungUp: request.signal.aborted, durationMs });
  return response;
}

async function replyTo(
  post: Post,
  headers: Headers,
  bytes: Uint8Array<ArrayBuffer>,
  { plan, forwardTo }: ReceiverOptions,
): Promise<Reply> {
  const planned = plannedStatus(plan, post.post);
  if (planned !== null) return { response: new Response(null, { status: planned }), onPurpose: true, error: null };
  // Passed on whatever its signature: whoever it is passed on to is there to check it.
  if (forwardTo !== null) return relay(await forwardPost(forwardTo, headers, bytes), forwardTo);
  return { response: new Response(null, { status: post.signature.status }), onPurpose: false, error: null };
}

function relay(answer: Awaited<ReturnType<typeof forwardPost>>, forwardTo: string): Reply {
  if ('error' in answer) {
    const error = `${forwardTo} did not take it: ${answer.error}`;
    return { response: new Response(error, { status: 502 }), onPurpose: false, error };
  }
  const { status, headers, body } = answer;
  // A response of these statuses may have no body, not even an empty one.
  const response = new Response(BODILESS.includes(status) ? null : body, { status, headers });
  return { response, onPurpose: false, error: null };
}

const BODILESS = [204, 205, 304];

/** Ends early when the sender hangs up. */
function delay(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
