import { timingSafeEqual } from 'node:crypto';
import { type InputError, Problem } from '../../contract/problems.ts';
import {
  hashApiKey,
  isOperator,
  isWellFormedApiKey,
  operatorKeyId,
  PERMISSIONS,
  type Permission,
} from '../../domain/keys/api-keys.ts';
import type { OperatorKey, OperatorScope } from '../../domain/keys/operator-keys.ts';
import { findRevision } from '../../store/tenants/entities.ts';
import type { ApiContext, Caller, Operator, RequestState } from '../context.ts';

/** Identifies the caller with one lookup, which also returns the entity's current revision. */
export async function authenticate(context: ApiContext, state: RequestState, headers: Headers): Promise<Caller> {
  const apiKey = headers.get('api-key');
  const entityId = headers.get('entity-id');
  if (!apiKey || !entityId) throw failed(context, state, missingHeaders({ 'api-key': apiKey, 'entity-id': entityId }));
  // The values of a header that was sent twice arrive joined by a comma, which no valid value contains.
  if (entityId.includes(',')) throw failed(context, state, invalidKey());
  const keyHash = hashApiKey(apiKey);
  const operator = findOperator(context, keyHash);
  if (operator !== null) return operatorFor(context, state, entityId, operator);
  if (!isWellFormedApiKey(apiKey)) throw failed(context, state, invalidKey());
  const holder = await context.keys.find(keyHash);
  if (holder === null) throw failed(context, state, invalidKey());
  if (holder.entityId !== entityId) throw wrongEntity();
  context.keys.recordUse(holder);
  return holder;
}

/** For a long request: throws if its key was revoked, has expired or lost the permission since the request began. */
export async function requireValidKey(
  context: ApiContext,
  caller: Caller,
  headers: Headers,
  permission: Permission,
): Promise<void> {
  const keyHash = hashApiKey(headers.get('api-key') ?? '');
  if (isOperator(caller.keyId)) {
    // Operators' keys are settings, which do not change while the process runs, but they expire.
    if (findOperator(context, keyHash) === null) throw invalidKey();
    return;
  }
  const holder = await context.keys.find(keyHash);
  if (holder?.entityId !== caller.entityId) throw invalidKey();
  requirePermission(holder, permission);
}

/** For paths outside of any entity. Only operators' keys open them, never an entity's key. */
export async function authenticateOperator(
  context: ApiContext,
  state: RequestState,
  headers: Headers,
  scope: OperatorScope,
): Promise<Operator> {
  const apiKey = headers.get('api-key');
  if (!apiKey) throw failed(context, state, missingHeaders({ 'api-key': apiKey }));
  const keyHash = hashApiKey(apiKey);
  const operator = findOperator(context, keyHash);
  if (operator === null) throw failed(context, state, invalidKey());
  context.limits.admitOperator(state.clientAddress, keyHash);
  if (!operator.scopes.has(scope)) throw missingPermission(scope);
  return {
    keyId: operatorKeyId(operator.name),
    permissions: PERMISSIONS.filter((permission) => operator.permissions.has(permission)),
  };
}

/** Counts an invalid key against the client's address. Above the limit of the address, returns a 429. */
export function failed({ limits }: ApiContext, { clientAddress }: RequestState, problem: Problem): Problem {
  return limits.recordFailure(clientAddress) ?? problem;
}

function findOperator({ operators, nowMs }: ApiContext, keyHash: string): OperatorKey | null {
  if (operators.length === 0) return null;
  // Hashes have one length, and a comparison in constant time does not reveal how much of a guess was right.
  const given = Buffer.from(keyHash);
  const found = operators.find(({ hash }) => timingSafeEqual(given, Buffer.from(hash)));
  const expiresAtMs = found?.expiresAtMs ?? Number.POSITIVE_INFINITY;
  return found === undefined || expiresAtMs <= nowMs() ? null : found;
}

async function operatorFor(
  { db, limits }: ApiContext,
  { clientAddress }: RequestState,
  entityId: string,
  { name, hash, permissions, expiresAtMs }: OperatorKey,
): Promise<Caller> {
  limits.admitOperator(clientAddress, hash);
  const revision = await findRevision(db, entityId);
  if (revision === null) throw wrongEntity();
  return { keyId: operatorKeyId(name), entityId, revision, permissions, expiresAtMs };
}

export function requirePermission({ permissions }: Caller, permission: Permission): void {
  if (!permissions.has(permission)) throw missingPermission(permission);
}

function missingPermission(permission: OperatorScope): Problem {
  return new Problem('missing_permission', `This key does not have the permission ${permission}.`, {
    errors: [{ in: 'header', name: 'api-key', message: `needs the permission ${permission}` }],
    permission,
  });
}

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

/** The same response for a malformed, unknown, expired or revoked key, so that guessing reveals nothing. */
function invalidKey(): Problem {
  return new Problem('unauthenticated', 'The api-key is not valid. Check that it is complete, current and sent once.', {
    headers: CHALLENGE,
  });
}

/** The same response whether or not the entity exists. */
function wrongEntity(): Problem {
  return new Problem(
    'wrong_entity',
    'The api-key does not belong to the entity named in entity-id. Send the entity-id that was issued with the key.',
  );
}
