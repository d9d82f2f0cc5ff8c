import { StoreUnavailableError } from '../../store/database.ts';
import { json } from '../answers.ts';
import type { ApiContext } from '../context.ts';

/** The process is alive; says nothing of the store, so that a paused database does not get the process killed. */
export function healthz(): Response {
  return json(200, { status: 'ok' });
}

/** The process can do its work now: it is not stopping, and the store answers. */
export async function readyz(context: ApiContext): Promise<Response> {
  if (!context.isReady()) return notReady('stopping');
  try {
    await context.db.get('select 1 as up');
    return json(200, { status: 'ready', store: context.db.engine });
  } catch (error) {
    if (error instanceof StoreUnavailableError) return notReady('the store does not answer');
    throw error;
  }
}

function notReady(reason: string): Response {
  return json(503, { status: 'not ready', reason }, { 'retry-after': '2' });
}
