import { StoreUnavailableError } from '../../store/database/database.ts';
import { SecretKeyError } from '../../store/tenants/secret-box.ts';
import { checkSecretsOpen } from '../../store/tenants/secrets.ts';
import type { ApiContext } from '../context.ts';
import { json } from '../http/responses.ts';

/** The process is alive; says nothing of the store, so that a paused database does not get the process killed. */
export function healthz(): Response {
  return json(200, { status: 'ok' });
}

/** The process can do its work now: it is not stopping, the store answers, and what is sealed in it opens. */
export async function readyz(context: ApiContext): Promise<Response> {
  if (!context.isReady()) return notReady('stopping');
  try {
    await checkSecretsOpen(context.db, context.box);
    return json(200, { status: 'ready', store: context.db.engine });
  } catch (error) {
    if (error instanceof StoreUnavailableError) return notReady('the store does not answer');
    if (error instanceof SecretKeyError)
      return notReady('SECRET_KEY was changed: start the service again with the new one');
    throw error;
  }
}

function notReady(reason: string): Response {
  return json(503, { status: 'not ready', reason }, { 'retry-after': '2' });
}
