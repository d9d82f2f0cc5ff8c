import { hashApiKey, isWellFormedApiKey, type Permission } from '../domain/api-keys.ts';
import { type Fault, Problem } from '../domain/problems.ts';
import { findKeyHolder } from '../store/api-keys.ts';
import { type ApiContext, type Caller, nowS } from './context.ts';

/** One lookup by the key's hash, which also brings the entity's revision. */
export async function authenticate(context: ApiContext, headers: Headers): Promise<Caller> {
  const apiKey = headers.get('api-key');
  const entityId = headers.get('entity-id');
  if (!apiKey || !entityId) throw missingHeaders({ 'api-key': apiKey, 'entity-id': entityId });
  // A header given twice arrives joined by a comma, which neither value can contain.
  if (entityId.includes(',') || !isWellFormedApiKey(apiKey)) throw refused();
  const holder = await findKeyHolder(context.db, hashApiKey(apiKey), nowS(context));
  if (holder === null) throw refused();
  if (holder.entityId !== entityId) throw wrongEntity();
  return {
    keyId: holder.keyId,
    entityId,
    revision: holder.revision,
    may: (permission) => holder.permissions.has(permission),
  };
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
  return new Problem('unauthenticated', `Send the header ${errors.map(({ name }) => name).join(' and ')}.`, {
    errors,
    headers: CHALLENGE,
  });
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
