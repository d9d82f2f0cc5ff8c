import { sleep, startDeadline } from './deadline.ts';
import { ConnectionError, PaybellError, ProblemError, readProblem, TimeLimitError } from './errors.ts';
import { isRefusal, waitBeforeRetryMs } from './retry.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type ClientOptions = {
  /** The URL of the service, such as `https://paybell.example.com`. */
  readonly url: string;
  /** A key of the entity, or the operator's. */
  readonly apiKey: string;
  /** The entity that the key belongs to, or that the operator acts for. Only the methods of `admin` need none. */
  readonly entityId?: string;
  /** The path segment that the service's setting `PROCESSOR` names. */
  readonly processor?: string;
  readonly fetch?: Fetch;
  /** The time limit of each attempt, up to the end of its response. */
  readonly timeoutMs?: number;
  /** How often a call is repeated after a network error, 429, 502, 503 or 504. */
  readonly retries?: number;
};

export type CallOptions = {
  /** Aborts the call, even while it waits for the next attempt. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly retries?: number;
};

/** One request to one operation of the service. */
export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Under the base path, with the parameter in braces that `id` fills. */
  readonly path: string;
  readonly id?: string;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly (string | number)[] | undefined>>;
  readonly json?: unknown;
  /** A body that is text already. */
  readonly text?: { readonly type: string; readonly body: string };
  readonly ifMatch?: string | undefined;
  /** The operation is under `/admin/v1` and takes the operator's key. */
  readonly isAdmin?: boolean;
  /** The operation is at exactly its path and needs no key. */
  readonly isOpen?: boolean;
  /** False if each request has a separate effect. After a lost response, the caller must look before repeating it. */
  readonly isIdempotent?: boolean;
  /** After a lost response, 404 means that the first attempt has deleted it. */
  readonly isDeletion?: boolean;
};

type Init = RequestInit & { readonly headers: Record<string, string> };

type Exchange<Data> = { readonly data: Data; readonly headers: Headers };

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 3;

/** Sends requests, repeats them where that is safe, and turns responses into data or errors. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #fetch: Fetch;
  readonly #base: string;

  constructor(options: ClientOptions) {
    if (!URL.canParse(options.url)) {
      throw new TypeError('url must be the URL of the service, such as https://paybell.example.com');
    }
    if (options.apiKey === '') throw new TypeError('apiKey must not be empty');
    this.#options = options;
    // Read from the global object at each call: browsers refuse a detached fetch, and tests replace it.
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#base = options.url.replace(/\/+$/, '');
  }

  get options(): ClientOptions {
    return this.#options;
  }

  async call<Data>(request: ApiRequest, options?: CallOptions): Promise<Data> {
    return (await this.exchange<Data>(request, options)).data;
  }

  async exchange<Data>(request: ApiRequest, options: CallOptions = {}): Promise<Exchange<Data>> {
    // The only cast of a response: the service has validated what it sends, and the client carries no schema.
    return (await this.#exchange(request, options)) as Exchange<Data>;
  }

  /** The response with server-sent events, once its head has come; the connection lasts until it is aborted. */
  async openStream(request: ApiRequest, connection: AbortController, options: CallOptions): Promise<Response> {
    const { headers, ...init } = this.#initOf(request);
    const { signal } = connection;
    const streamed = { ...init, headers: { ...headers, accept: 'text/event-stream' }, signal };
    const late = setTimeout(() => connection.abort(), options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    try {
      const response = await this.#fetch(this.#urlOf(request), streamed);
      const type = response.headers.get('content-type') ?? '';
      if (response.ok && type.startsWith('text/event-stream')) return response;
      throw await readProblem(response);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof PaybellError) throw error;
      throw new ConnectionError(`no response from ${this.#base}: ${messageOf(error)}`, { cause: error });
    } finally {
      clearTimeout(late);
    }
  }

  /** URL and body are built once, so that every attempt sends the same bytes. */
  async #exchange(request: ApiRequest, options: CallOptions): Promise<Exchange<unknown>> {
    const url = this.#urlOf(request);
    const init = this.#initOf(request);
    const { isIdempotent = true, isDeletion = false } = request;
    const retries = options.retries ?? this.#options.retries ?? DEFAULT_RETRIES;
    for (let attempt = 0, responseWasLost = false; ; attempt++) {
      try {
        return await this.#attempt(url, init, options);
      } catch (error) {
        if (isDeletion && responseWasLost && error instanceof ProblemError && error.code === 'not_found') {
          return { data: undefined, headers: new Headers() };
        }
        responseWasLost ||= !isRefusal(error);
        const waitMs = attempt < retries ? waitBeforeRetryMs(error, attempt, isIdempotent) : null;
        if (waitMs === null) throw error;
        await sleep(waitMs, options.signal);
      }
    }
  }

  #urlOf({ path, id = '', query = {}, isAdmin = false, isOpen = false }: ApiRequest): string {
    const base = isAdmin ? '/admin/v1' : `/api/v1/${this.#options.processor ?? 'crypto'}`;
    const prefix = isOpen ? '' : base;
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(String(value))}`],
    );
    // As a path segment, each of these would turn the path into another one.
    if (path.includes('{') && ['', '.', '..'].includes(id)) throw new TypeError('the id must not be empty or dots');
    const search = parameters.length === 0 ? '' : `?${parameters.join('&')}`;
    return this.#base + prefix + path.replace(/\{\w+\}/, encodeURIComponent(id)) + search;
  }

  #initOf({ method, json, text, ifMatch, isAdmin = false, isOpen = false }: ApiRequest): Init {
    const { apiKey, entityId } = this.#options;
    if (!isAdmin && entityId === undefined) throw new TypeError('entityId is required, except by the methods of admin');
    const body = json === undefined ? text?.body : JSON.stringify(json);
    const type = json === undefined ? text?.type : 'application/json';
    return {
      method,
      headers: {
        ...(isOpen ? {} : { 'api-key': apiKey }),
        ...(isOpen || isAdmin || entityId === undefined ? {} : { 'entity-id': entityId }),
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      },
      // The key must not follow a redirect to another host.
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    };
  }

  async #attempt(url: string, init: RequestInit, options: CallOptions): Promise<Exchange<unknown>> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    options.signal?.throwIfAborted();
    const deadline = startDeadline(timeoutMs, options.signal);
    try {
      const response = await this.#fetch(url, { ...init, signal: deadline.signal });
      if (response.status === 204) return { data: undefined, headers: response.headers };
      if (!isJsonSuccess(response)) throw await readProblem(response);
      return { data: await response.json(), headers: response.headers };
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof PaybellError) throw error;
      if (deadline.signal.aborted) throw new TimeLimitError(`no response within ${timeoutMs} ms`, { cause: error });
      throw new ConnectionError(`no response from ${this.#base}: ${messageOf(error)}`, { cause: error });
    } finally {
      deadline.clear();
    }
  }
}

/** A web page with status 200, for example, does not come from Paybell. */
function isJsonSuccess(response: Response): boolean {
  return response.ok && (response.headers.get('content-type') ?? '').startsWith('application/json');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
