import { StoreUnavailableError } from '../../store/database/database.ts';
import { SecretKeyError } from '../../store/tenants/secret-box.ts';
import { checkSecretsOpen } from '../../store/tenants/secrets.ts';
import type { ApiContext } from '../context.ts';
import { json } from '../http/responses.ts';

/** Liveness. It does not check the store: restarting the process would not help against a paused database. */
export function healthz(): Response {
  return json(200, { status: 'ok' });
}

/** Readiness: the process is not stopping, the store responds, and its secrets can be decrypted. */
export async function readyz(context: ApiContext): Promise<Response> {
  if (!context.isReady()) return notReady('stopping');
  try {
    await checkSecretsOpen(context.db, context.box);
    return json(200, { status: 'ready', store: context.db.engine });
  } catch (error) {
    if (error instanceof StoreUnavailableError) return notReady('the store does not respond');
    if (error instanceof SecretKeyError)
      return notReady('SECRET_KEY has changed: restart the service with the new one');
    throw error;
  }
}

function notReady(reason: string): Response {
  return json(503, { status: 'not ready', reason }, { 'retry-after': '2' });
}
