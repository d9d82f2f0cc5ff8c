import { ConnectionError, PaybellError, ProblemError, TimeLimitError } from '../client/errors.ts';
import { Paybell } from '../client/paybell.ts';
import type { ProblemCode } from '../client/types.ts';
import { noteLacking, type Session, session, signOut } from './session.ts';
import { PROCESSOR } from './settings.ts';

/** Everything the page asks goes through the published client, as anybody's program would. */

const RETRIES = 2;

let current: { who: Session; client: Paybell } | null = null;

/** The client of whoever is signed in. */
export function paybell(): Paybell {
  const who = session.get();
  if (who === null) throw new PaybellError('nobody is signed in');
  if (current?.who !== who) current = { who, client: clientFor(who, fetchForSession) };
  return current.client;
}

/** For somebody who is not signed in yet. */
export function clientFor(who: Session, fetch = keptAlive): Paybell {
  return new Paybell({ url: location.origin, processor: PROCESSOR, retries: RETRIES, fetch, ...who });
}

/** What was asked for is done even if the tab is closed in that moment. */
function keptAlive(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, keepalive: init.method !== 'GET' });
}

async function fetchForSession(url: string, init: RequestInit): Promise<Response> {
  const response = await keptAlive(url, init);
  if (response.status === 401) signOut('The key is no longer accepted: it may have expired or been revoked.');
  return response;
}

/** What went wrong, in the words that a person is shown. */
export type ApiProblem = Pick<ProblemError, 'code' | 'title' | 'detail' | 'errors' | 'requestId'>;

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ProblemError) {
    const missing = missingPermission(error);
    if (missing !== null && session.get() !== null) noteLacking(missing);
    return error;
  }
  if (error instanceof ConnectionError || error instanceof TimeLimitError) {
    const detail = 'No answer came back. Check that Paybell is running and that you are online.';
    return { code: 'unreachable', title: 'Paybell cannot be reached', detail, errors: [], requestId: null };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { code: 'page_fault', title: 'Something went wrong in the page', detail, errors: [], requestId: null };
}

const LASTING: readonly string[] = ['missing_permission', 'invalid_request', 'not_found'] satisfies ProblemCode[];

/** Whether asking the same again would be refused again. */
export function willLast(problem: ApiProblem | null): boolean {
  return problem !== null && LASTING.includes(problem.code);
}

/** What the server found wrong with the input of this name. */
export function faultOf(problem: ApiProblem | null, name: string): string | null {
  const fault = problem?.errors.find((error) => error.name === name || error.name.startsWith(`${name}.`));
  return fault?.message ?? null;
}

/** The permission that a refusal names, or null when it was refused for another reason. */
export function missingPermission(problem: ApiProblem): string | null {
  if (problem.code !== 'missing_permission') return null;
  return /[a-z]+:[a-z]+/.exec(problem.detail)?.[0] ?? 'a permission';
}
