import { StoreUnavailableError } from '../../store/database/database.ts';
import { SecretKeyError } from '../../store/tenants/secret-box.ts';
import { checkSecretsOpen } from '../../store/tenants/signing-keys.ts';
import type { ApiContext } from '../context.ts';
import { json } from '../http/responses.ts';

/** Liveness. Does not check the database, because a restart of the process would not help against a paused database. */
export function healthz(): Response {
  return json(200, { status: 'ok' });
}

/** Readiness: the process is not stopping, the store responds and accepts writes, its secrets can be decrypted, and no worker keeps failing. */
export async function readyz(context: ApiContext): Promise<Response> {
  if (!context.isReady()) return notReady('stopping');
  try {
    await checkSecretsOpen(context.db, context.box);
    if (!context.db.dialect.hasWorker()) return notReady('no worker of Citus responds');
    const problem = context.writeProblem();
    if (problem !== null) return notReady(BLOCKED_WRITES[problem.reason]);
    const workers = context.failingWorkers();
    if (workers.length > 0) {
      const names = workers.map(({ worker }) => worker).join(', ');
      return notReady(`background work keeps failing: ${names}`, { workers });
    }
    return json(200, { status: 'ready', store: context.db.engine });
  } catch (error) {
    if (error instanceof StoreUnavailableError) {
      return notReady(error.reason === 'no_answer' ? 'the store does not respond' : BLOCKED_WRITES[error.reason]);
    }
    if (error instanceof SecretKeyError)
      return notReady('SECRET_KEY has changed: restart the service with the new one');
    throw error;
  }
}

/** The texts do not name the file, because /readyz needs no key. The log and `doctor` name it. */
const BLOCKED_WRITES = {
  disk_full: 'the disk of the database is full: free some space',
  read_only: 'the database is read-only',
} as const;

function notReady(reason: string, details: object = {}): Response {
  return json(503, { status: 'not ready', reason, ...details }, { 'retry-after': '2' });
}
