import type { ProblemCode } from '../client/errors.ts';
import { ConnectionError, PaybellError, ProblemError, TimeLimitError } from '../client/errors.ts';
import { Paybell } from '../client/paybell.ts';
import { noteMissingPermission, type Session, session, signOut } from './session.ts';
import { PROCESSOR } from './settings.ts';

/** The dashboard calls the API through the published client only, as any integration would. */

const RETRIES = 2;

let current: { session: Session; client: Paybell } | null = null;

/** The client of the signed-in session. */
export function paybell(): Paybell {
  const active = session.get();
  if (active === null) throw new PaybellError('Not signed in');
  if (current?.session !== active) current = { session: active, client: clientFor(active, fetchForSession) };
  return current.client;
}

/** Also used to check credentials before there is a session. */
export function clientFor(credentials: Session, fetch = fetchKeepAlive): Paybell {
  return new Paybell({ url: location.origin, processor: PROCESSOR, retries: RETRIES, fetch, ...credentials });
}

/** `keepalive` lets a change complete even if the tab is closed while the request is in flight. */
function fetchKeepAlive(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, keepalive: init.method !== 'GET' });
}

async function fetchForSession(url: string, init: RequestInit): Promise<Response> {
  const response = await fetchKeepAlive(url, init);
  if (response.status === 401) signOut('This API key is no longer valid. It may have expired or been revoked.');
  return response;
}

/** An error as views show it. */
export type ApiProblem = Pick<ProblemError, 'code' | 'title' | 'detail' | 'errors' | 'permission' | 'requestId'>;

const NO_DETAILS = { errors: [], permission: null, requestId: null };

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ProblemError) {
    if (error.permission !== null && session.get() !== null) noteMissingPermission(error.permission);
    return error;
  }
  if (error instanceof ConnectionError || error instanceof TimeLimitError) {
    const detail = 'The server did not respond. Check that Paybell is running and that you are online.';
    return { code: 'unreachable', title: 'Cannot reach Paybell', detail, ...NO_DETAILS };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { code: 'dashboard_error', title: 'Something went wrong', detail, ...NO_DETAILS };
}

const PERMANENT: readonly string[] = ['missing_permission', 'invalid_request', 'not_found'] satisfies ProblemCode[];

/** Whether repeating the request would fail in the same way, so that polling stops. */
export function isPermanent(problem: ApiProblem | null): boolean {
  return problem !== null && PERMANENT.includes(problem.code);
}

/** The problem that a section of a page must show itself. The page already shows `said`, and an unreachable server. */
export function ownProblem(problem: ApiProblem | null, said: ApiProblem | null): ApiProblem | null {
  return problem?.code === 'unreachable' || problem?.code === said?.code ? null : problem;
}

/** The server's message about the input of this name, or about a part of it. */
export function inputError(problem: ApiProblem | null, name: string): string | null {
  const found = problem?.errors.find((error) => error.name === name || error.name.startsWith(`${name}.`));
  return found?.message ?? null;
}
