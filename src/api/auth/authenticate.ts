import { timingSafeEqual } from 'node:crypto';
import { ACTORS } from '../../contract/audit.ts';
import { type InputError, Problem } from '../../contract/problems.ts';
import { hashApiKey, isWellFormedApiKey, PERMISSIONS, type Permission } from '../../domain/api-keys.ts';
import { findRevision } from '../../store/tenants/entities.ts';
import type { ApiContext, Caller, Operator, RequestState } from '../context.ts';

/** Identifies the caller with one lookup, which also returns the entity's current revision. */
export async function authenticate(context: ApiContext, state: RequestState, headers: Headers): Promise<Caller> {
  const apiKey = headers.get('api-key');
  const entityId = headers.get('entity-id');
  if (!apiKey || !entityId) throw failed(context, state, missingHeaders({ 'api-key': apiKey, 'entity-id': entityId }));
  // A header that was sent twice arrives joined by a comma, which neither value can contain.
  if (entityId.includes(',')) throw failed(context, state, invalidKey());
  const keyHash = hashApiKey(apiKey);
  if (isAdminKey(context, keyHash)) return operatorFor(context, state, entityId, keyHash);
  if (!isWellFormedApiKey(apiKey)) throw failed(context, state, invalidKey());
  const holder = await context.keys.find(keyHash);
  if (holder === null) throw failed(context, state, invalidKey());
  if (holder.entityId !== entityId) throw wrongEntity();
  context.keys.recordUse(holder);
  return holder;
}

/** For a request that goes on for a while: throws if its key was revoked, has expired or lost the permission meanwhile. */
export async function requireValidKey(
  { keys }: ApiContext,
  caller: Caller,
  headers: Headers,
  permission: Permission,
): Promise<void> {
  // ADMIN_KEY is a setting, which does not change while the process runs.
  if (caller.keyId === ACTORS.operator) return;
  const holder = await keys.find(hashApiKey(headers.get('api-key') ?? ''));
  if (holder?.entityId !== caller.entityId) throw invalidKey();
  requirePermission(holder, permission);
}

/** For paths that belong to no entity. Only ADMIN_KEY opens them, and no key of an entity does. */
export async function authenticateOperator(
  context: ApiContext,
  state: RequestState,
  headers: Headers,
): Promise<Operator> {
  const apiKey = headers.get('api-key');
  if (!apiKey) throw failed(context, state, missingHeaders({ 'api-key': apiKey }));
  const keyHash = hashApiKey(apiKey);
  if (!isAdminKey(context, keyHash)) throw failed(context, state, invalidKey());
  context.limits.admitOperator(state.clientAddress, keyHash);
  return { keyId: ACTORS.operator };
}

/** Counts an invalid key against the address that it came from. Above the limit of the address it is a 429. */
export function failed({ limits }: ApiContext, { clientAddress }: RequestState, problem: Problem): Problem {
  return limits.recordFailure(clientAddress) ?? problem;
}

function isAdminKey({ config }: ApiContext, keyHash: string): boolean {
  if (config.ADMIN_KEY === undefined) return false;
  // Hashes have one length, and a comparison in constant time does not reveal how much of a guess was right.
  return timingSafeEqual(Buffer.from(keyHash), Buffer.from(hashApiKey(config.ADMIN_KEY)));
}

async function operatorFor(
  { db, limits }: ApiContext,
  { clientAddress }: RequestState,
  entityId: string,
  keyHash: string,
): Promise<Caller> {
  limits.admitOperator(clientAddress, keyHash);
  const revision = await findRevision(db, entityId);
  if (revision === null) throw wrongEntity();
  return { keyId: ACTORS.operator, entityId, revision, permissions: ALL_PERMISSIONS };
}

export function requirePermission(caller: Caller, permission: Permission): void {
  if (caller.permissions.has(permission)) return;
  throw new Problem('missing_permission', `This key does not have the permission ${permission}.`, {
    errors: [{ in: 'header', name: 'api-key', message: `needs the permission ${permission}` }],
    permission,
  });
}

const ALL_PERMISSIONS: ReadonlySet<string> = new Set(PERMISSIONS);

const CHALLENGE = { 'www-authenticate': 'ApiKey realm="paybell"' };

function missingHeaders(given: Record<string, string | null>): Problem {
  const errors: InputError[] = Object.entries(given)
    .filter(([, value]) => !value)
    .map(([name]) => ({ in: 'header', name, message: 'is required' }));
  const names = errors.map(({ name }) => name).join(' and ');
  return new Problem('unauthenticated', `Send the ${errors.length > 1 ? 'headers' : 'header'} ${names}.`, {
    errors,
    headers: CHALLENGE,
  });
}

/** The same for a malformed, unknown, expired or revoked key, so that guessing reveals nothing. */
function invalidKey(): Problem {
  return new Problem('unauthenticated', 'The api-key is not valid. Check that it is complete, current and sent once.', {
    headers: CHALLENGE,
  });
}

/** The same whether or not the entity exists. */
function wrongEntity(): Problem {
  return new Problem('wrong_entity', 'The api-key does not belong to the entity named in entity-id.');
}
