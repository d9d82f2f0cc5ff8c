import { ConnectionError, PaybellError, ProblemError, problemIn, TimeLimitError } from './errors.ts';

export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Under `/admin/v1`, with the operator's key. */
  readonly admin?: boolean;
  /** Each request makes one more: after a lost answer the caller has to look before it asks again. */
  readonly once?: boolean;
  /** What is not there after a lost answer is what was asked for. */
  readonly removes?: boolean;
};

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type ClientOptions = {
  /** Where the service is, such as `https://paybell.example.com`. */
  readonly url: string;
  /** A key of the entity, or the operator's. */
  readonly apiKey: string;
  /** The entity that the key belongs to, or for which the operator acts; only `admin` goes without it. */
  readonly entityId?: string;
  /** The segment of the path that the service's setting `PROCESSOR` names. */
  readonly processor?: string;
  readonly fetch?: Fetch;
  /** Time limit of each try, its answer included. */
  readonly timeoutMs?: number;
  /** How often a call is tried again after a network fault, 429 or 503. */
  readonly retries?: number;
};

export type CallOptions = {
  /** Ends the call, also while it waits for the next try. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly retries?: number;
};

/** What one call sends. Made once before the first try, so that every try sends the same bytes. */
export type Sent = {
  readonly id?: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: unknown;
  /** A body that is text already. */
  readonly text?: { readonly type: string; readonly body: string };
  readonly ifMatch?: string | undefined;
  /** That a lost answer must not be followed by another try, though the operation would allow it. */
  readonly once?: boolean;
};

export type Answered<Data> = { readonly data: Data; readonly headers: Headers };

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 3;
const FIRST_WAIT_MS = 250;
/** Whoever asks for a longer wait is asked again by the caller, who may have better things to do meanwhile. */
const MAX_WAIT_MS = 30_000;

/** One call: sent, tried again where that is safe and may help, and its answer parsed once. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #fetch: Fetch;
  readonly #base: string;

  constructor(options: ClientOptions) {
    if (!URL.canParse(options.url))
      throw new TypeError('url must be where the service is, such as https://example.com');
    if (options.apiKey === '') throw new TypeError('apiKey must not be empty');
    this.#options = options;
    // Called through the global object at each use: browsers refuse a detached fetch, and tests replace it.
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#base = options.url.replace(/\/+$/, '');
  }

  get options(): ClientOptions {
    return this.#options;
  }

  async call<Data>(operation: Operation, sent: Sent = {}, options: CallOptions = {}): Promise<Data> {
    return (await this.callWithHeaders<Data>(operation, sent, options)).data;
  }

  async callWithHeaders<Data>(operation: Operation, sent: Sent, options: CallOptions): Promise<Answered<Data>> {
    const url = this.#urlOf(operation, sent);
    const init = this.#requestOf(operation, sent);
    const once = sent.once ?? operation.once ?? false;
    const retries = options.retries ?? this.#options.retries ?? DEFAULT_RETRIES;
    for (let attempt = 0, wasLost = false; ; attempt++) {
      try {
        return await this.#tryOnce<Data>(url, init, options);
      } catch (error) {
        if (wasLost && operation.removes && error instanceof ProblemError && error.code === 'not_found') {
          return { data: undefined as Data, headers: new Headers() };
        }
        wasLost ||= !isRefusal(error);
        const waitMs = attempt < retries ? waitBefore(error, attempt, once) : null;
        if (waitMs === null) throw error;
        await sleep(waitMs, options.signal);
      }
    }
  }

  #urlOf({ path, admin = false }: Operation, { id = '', query = {} }: Sent): string {
    const prefix = admin ? '/admin/v1' : `/api/v1/${this.#options.processor ?? 'crypto'}`;
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    // None of these names anything, and as a part of a path each would mean another path.
    if (path.includes('{') && ['', '.', '..'].includes(id)) throw new TypeError('the id must not be empty or dots');
    const search = parameters.length === 0 ? '' : `?${parameters.join('&')}`;
    return this.#base + prefix + path.replace(/\{\w+\}/, encodeURIComponent(id)) + search;
  }

  #requestOf({ method, admin = false }: Operation, { json, text, ifMatch }: Sent): RequestInit {
    const { apiKey, entityId } = this.#options;
    if (!admin && entityId === undefined) throw new TypeError('entityId is needed for all but the operator’s calls');
    const body = json === undefined ? text?.body : JSON.stringify(json);
    const type = json === undefined ? text?.type : 'application/json';
    return {
      method,
      headers: {
        'api-key': apiKey,
        ...(admin || entityId === undefined ? {} : { 'entity-id': entityId }),
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      },
      // A key must not follow a redirect to another host.
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    };
  }

  async #tryOnce<Data>(url: string, init: RequestInit, options: CallOptions): Promise<Answered<Data>> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    options.signal?.throwIfAborted();
    const limit = limited(timeoutMs, options.signal);
    try {
      const response = await this.#fetch(url, { ...init, signal: limit.signal });
      if (response.status === 204) return { data: undefined as Data, headers: response.headers };
      if (!isAnswer(response)) throw await problemIn(response);
      return { data: (await response.json()) as Data, headers: response.headers };
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof PaybellError) throw error;
      if (limit.signal.aborted) throw new TimeLimitError(`no answer within ${timeoutMs} ms`, { cause: error });
      throw new ConnectionError(`no answer from ${this.#base}: ${messageOf(error)}`, { cause: error });
    } finally {
      limit.end();
    }
  }
}

/** A web page with status 200, say, comes from somewhere else. */
function isAnswer(response: Response): boolean {
  return response.ok && (response.headers.get('content-type') ?? '').startsWith('application/json');
}

/** How long to wait before the next try; null when there should be none. */
function waitBefore(error: unknown, attempt: number, once: boolean): number | null {
  if (!(error instanceof PaybellError)) return null;
  if (!(error instanceof ProblemError)) return once ? null : backOffMs(attempt);
  // Behind any of these the request may have been done: they say as little as a cut connection.
  const mayBeLost = [502, 503, 504].includes(error.status) && !once;
  if (!isRefusal(error) && !mayBeLost) return null;
  const waitMs = error.retryAfterS === null ? backOffMs(attempt) : error.retryAfterS * 1000;
  return waitMs > MAX_WAIT_MS ? null : waitMs;
}

/** Nothing was done, so that even what must not happen twice may be tried again. */
function isRefusal(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 429;
}

/** Doubled each time and spread by half, so that many clients do not come back at one moment. */
function backOffMs(attempt: number): number {
  return FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random());
}

/** A signal that aborts with the caller's or after the time; `AbortSignal.any` is missing in browsers still in use. */
function limited(timeoutMs: number, outer: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  return {
    signal: controller.signal,
    end: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', abort);
    },
  };
}

async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener('abort', wake);
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
