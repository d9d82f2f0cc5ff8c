import { timingSafeEqual } from 'node:crypto';
import { ACTORS } from '../../contract/audit.ts';
import { type InputError, Problem } from '../../contract/problems.ts';
import { hashApiKey, isWellFormedApiKey, PERMISSIONS, type Permission } from '../../domain/api-keys.ts';
import { findRevision } from '../../store/tenants/entities.ts';
import { type ApiContext, type Caller, nowS, type Operator, type RequestState } from '../context.ts';

/** One lookup by the key's hash, which also brings the entity's revision. */
export async function authenticate(context: ApiContext, state: RequestState, headers: Headers): Promise<Caller> {
  const apiKey = headers.get('api-key');
  const entityId = headers.get('entity-id');
  const keyHash = hashPatiently(context, state, apiKey);
  if (!apiKey || !entityId) throw failed(context, state, missingHeaders({ 'api-key': apiKey, 'entity-id': entityId }));
  // A header given twice arrives joined by a comma, which neither value can contain.
  if (entityId.includes(',')) throw failed(context, state, refused());
  if (isAdminKey(context, keyHash)) return operatorFor(context, entityId, keyHash);
  if (!isWellFormedApiKey(apiKey)) throw failed(context, state, refused());
  const holder = await context.keyHolders.get(keyHash);
  if (holder === null) throw failed(context, state, refused());
  if (holder.entityId !== entityId) throw wrongEntity();
  context.limits.noteSuccess(keyHash);
  context.keyUsage.note(entityId, holder.keyId, nowS(context));
  return holder;
}

/** For what belongs to no entity. The key of an entity, however good, is not the operator's. */
export async function authenticateOperator(
  context: ApiContext,
  state: RequestState,
  headers: Headers,
): Promise<Operator> {
  const apiKey = headers.get('api-key');
  const keyHash = hashPatiently(context, state, apiKey);
  if (!apiKey) throw failed(context, state, missingHeaders({ 'api-key': apiKey }));
  if (!isAdminKey(context, keyHash)) throw failed(context, state, refused());
  context.limits.noteSuccess(keyHash);
  return { keyId: ACTORS.operator };
}

/** Before a key is looked at: an address from which too many wrong ones came is not heard any more for a while. */
export function hashPatiently({ limits }: ApiContext, { clientAddress }: RequestState, key: string | null): string {
  const keyHash = hashApiKey(key ?? '');
  limits.requirePatience(clientAddress, keyHash);
  return keyHash;
}

/** A wrong key counts against the address that it came from. */
export function failed({ limits }: ApiContext, { clientAddress }: RequestState, problem: Problem): Problem {
  limits.noteFailure(clientAddress);
  return problem;
}

function isAdminKey({ config }: ApiContext, keyHash: string): boolean {
  if (config.ADMIN_KEY === undefined) return false;
  // Hashes have one length, and comparing them in constant time tells nothing of how far a guess was right.
  return timingSafeEqual(Buffer.from(keyHash), Buffer.from(hashApiKey(config.ADMIN_KEY)));
}

async function operatorFor({ db, limits }: ApiContext, entityId: string, keyHash: string): Promise<Caller> {
  const revision = await findRevision(db, entityId);
  if (revision === null) throw wrongEntity();
  limits.noteSuccess(keyHash);
  return { keyId: ACTORS.operator, entityId, revision, permissions: ALL_PERMISSIONS };
}

export function requirePermission(caller: Caller, permission: Permission): void {
  if (caller.permissions.has(permission)) return;
  throw new Problem('missing_permission', `This key lacks the permission ${permission}.`, {
    errors: [{ in: 'header', name: 'api-key', message: `needs the permission ${permission}` }],
  });
}

const ALL_PERMISSIONS: ReadonlySet<string> = new Set(PERMISSIONS);

const CHALLENGE = { 'www-authenticate': 'ApiKey realm="paybell"' };

function missingHeaders(given: Record<string, string | null>): Problem {
  const errors: InputError[] = Object.entries(given)
    .filter(([, value]) => !value)
    .map(([name]) => ({ in: 'header', name, message: 'is required' }));
  return new Problem(
    'unauthenticated',
    `Send the ${errors.length > 1 ? 'headers' : 'header'} ${errors.map(({ name }) => name).join(' and ')}.`,
    {
      errors,
      headers: CHALLENGE,
    },
  );
}

/** The same for a malformed, unknown, expired or revoked key: nobody learns which by trying. */
function refused(): Problem {
  return new Problem('unauthenticated', 'The api-key is not valid. Check that it is complete, current and sent once.', {
    headers: CHALLENGE,
  });
}

/** The same whether or not that entity exists. */
function wrongEntity(): Problem {
  return new Problem('wrong_entity', 'The api-key does not belong to the entity named in entity-id.');
}
