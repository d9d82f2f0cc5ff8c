import { type Session, session, signOut } from './session.ts';
import { API_PATH } from './settings.ts';

/** Everything the page asks goes through here, with the two headers that every client sends. */

export type Fault = { readonly in: string; readonly name: string; readonly message: string };

/** An answer that is no success, as RFC 9457 has it; status 0 when there was no answer at all. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';

  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly errors: readonly Fault[] = [],
    readonly requestId: string | null = null,
  ) {
    super(detail || title);
  }

  /** What to say under the field of this name, if the server found a fault there. */
  faultOf(name: string): string | null {
    const fault = this.errors.find((error) => error.name === name || error.name.startsWith(`${name}.`));
    return fault === undefined ? null : fault.message;
  }
}

export type Values = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type Ask = {
  readonly query?: Values;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Lets the request outlive the page, for what is done as it closes. */
  readonly keepalive?: boolean;
  /** Whom to ask for when nobody is signed in yet. */
  readonly as?: Session;
};

/** One request under the API's path; answers its parsed body, or null where there is none. */
export async function call<Answer>(method: string, path: string, ask: Ask = {}): Promise<Answer> {
  const who = ask.as ?? session.get();
  if (who === null) throw new ApiProblem(401, 'unauthenticated', 'Nobody is signed in', 'Sign in first.');
  const response = await send(method, urlOf(path, ask.query), who, ask);
  if (response.ok) return (response.status === 204 ? null : await response.json()) as Answer;
  const problem = await problemIn(response);
  if (problem.code === 'unauthenticated' && ask.as === undefined) {
    signOut('The key is no longer accepted: it may have expired or been revoked.');
  }
  throw problem;
}

export function urlOf(path: string, query: Values = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `${API_PATH}${path}${search.size === 0 ? '' : `?${search}`}`;
}

async function send(method: string, url: string, who: Session, { body, signal, keepalive }: Ask): Promise<Response> {
  const headers: Record<string, string> = { 'api-key': who.apiKey, 'entity-id': who.entityId };
  if (body !== undefined) headers['content-type'] = 'application/json';
  try {
    return await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      ...(keepalive === undefined ? {} : { keepalive }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = 'No answer came back. Check that Paybell is running and that you are online.';
    throw new ApiProblem(0, 'unreachable', 'Paybell cannot be reached', detail);
  }
}

async function problemIn(response: Response): Promise<ApiProblem> {
  const body = (await response.json().catch(() => ({}))) as Partial<ApiProblem>;
  return new ApiProblem(
    response.status,
    body.code ?? 'unknown',
    body.title ?? `The server answered ${response.status}`,
    body.detail ?? '',
    body.errors ?? [],
    body.requestId ?? response.headers.get('x-request-id'),
  );
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem(0, 'page_fault', 'Something went wrong in the page', String(error));
}
