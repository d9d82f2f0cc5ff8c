import { timingSafeEqual } from 'node:crypto';
import { hashApiKey, isWellFormedApiKey, type Permission } from '../domain/api-keys.ts';
import { ACTORS } from '../domain/audit.ts';
import { type Fault, Problem } from '../domain/problems.ts';
import { findRevision } from '../store/entities.ts';
import { type ApiContext, type Caller, nowS, type Operator, type RequestState } from './context.ts';

/** One lookup by the key's hash, which also brings the entity's revision. */
export function authenticate(context: ApiContext, state: RequestState, headers: Headers): Promise<Caller> {
  const apiKey = headers.get('api-key');
  const entityId = headers.get('entity-id');
  return guarded(context, state, apiKey, async (keyHash) => {
    if (!apiKey || !entityId) throw missingHeaders({ 'api-key': apiKey, 'entity-id': entityId });
    // A header given twice arrives joined by a comma, which neither value can contain.
    if (entityId.includes(',')) throw refused();
    if (isAdminKey(context, keyHash)) return operatorFor(context, entityId);
    if (!isWellFormedApiKey(apiKey)) throw refused();
    const holder = await context.keyHolders.get(keyHash);
    if (holder === null) throw refused();
    if (holder.entityId !== entityId) throw wrongEntity();
    context.keyUsage.note(entityId, holder.keyId, nowS(context));
    return {
      keyId: holder.keyId,
      entityId,
      revision: holder.revision,
      may: (permission) => holder.permissions.has(permission),
    };
  });
}

/** For what belongs to no entity. The key of an entity, however good, is not the operator's. */
export function authenticateOperator(context: ApiContext, state: RequestState, headers: Headers): Promise<Operator> {
  const apiKey = headers.get('api-key');
  return guarded(context, state, apiKey, async (keyHash) => {
    if (!apiKey) throw missingHeaders({ 'api-key': apiKey });
    if (!isAdminKey(context, keyHash)) throw refused();
    return { keyId: ACTORS.operator };
  });
}

/** Wrong keys count against the address they come from, and beyond its limit none is looked up any more. */
export async function guarded<Who>(
  { limits }: ApiContext,
  { clientAddress }: RequestState,
  key: string | null,
  identify: (keyHash: string) => Promise<Who>,
): Promise<Who> {
  const keyHash = hashApiKey(key ?? '');
  limits.requirePatience(clientAddress, keyHash);
  try {
    const who = await identify(keyHash);
    limits.noteSuccess(keyHash);
    return who;
  } catch (error) {
    if (error instanceof Problem && error.code === 'unauthenticated') limits.noteFailure(clientAddress);
    throw error;
  }
}

function isAdminKey({ config }: ApiContext, keyHash: string): boolean {
  if (config.ADMIN_KEY === undefined) return false;
  // Hashes have one length, and comparing them in constant time tells nothing of how far a guess was right.
  return timingSafeEqual(Buffer.from(keyHash), Buffer.from(hashApiKey(config.ADMIN_KEY)));
}

async function operatorFor(context: ApiContext, entityId: string): Promise<Caller> {
  const revision = await findRevision(context.db, entityId);
  if (revision === null) throw wrongEntity();
  return { keyId: ACTORS.operator, entityId, revision, may: () => true };
}

export function requirePermission(caller: Caller, permission: Permission): void {
  if (caller.may(permission)) return;
  throw new Problem('missing_permission', `This key lacks the permission ${permission}.`, {
    errors: [{ in: 'header', name: 'api-key', message: `needs the permission ${permission}` }],
  });
}

const CHALLENGE = { 'www-authenticate': 'ApiKey realm="paybell"' };

function missingHeaders(given: Record<string, string | null>): Problem {
  const errors: Fault[] = Object.entries(given)
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
