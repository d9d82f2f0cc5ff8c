import { keySetSchema } from '../../contract/secrets.ts';
import { toJwk } from '../../domain/signing.ts';
import { readPublicKeys } from '../../store/tenants/signing-keys.ts';
import { nowS } from '../context.ts';
import { missing } from '../http/found.ts';
import { etagOf, respondTagged, taggedResponses } from '../http/responses.ts';
import { type Operation, openOperation } from '../operation.ts';

/** Long enough that receivers seldom ask, and short enough that a revoked key is soon forgotten. */
const MAX_AGE_S = 300;

const read = openOperation({
  method: 'get',
  path: '/keys/{entityId}/jwks.json',
  operationId: 'readKeySet',
  tag: 'Secrets',
  summary: 'Read the published key set',
  description:
    'The public keys that verify the `v1a` signatures of an entity, as a JSON Web Key Set (RFC 7517), newest first. ' +
    'After a rotation it has the old and the new key for as long as both sign. Needs no credentials; caches may keep it ' +
    'for as long as `Cache-Control` says.',
  responses: taggedResponses(keySetSchema),
  problems: ['not_found'],
  handle: async ({ context, request, id }) => {
    const now = nowS(context);
    const publicKeys = await readPublicKeys(context.db, id, now);
    if (publicKeys.length === 0) throw missing('entity');
    const keys = publicKeys.map(({ keyId, publicKey }) => {
      return { ...toJwk(publicKey), kid: keyId, use: 'sig', alg: 'EdDSA' };
    });
    const body = JSON.stringify({ keys });
    const response = respondTagged(request, { etag: etagOf(body), body });
    // A cache must not keep a key for longer than it is in force.
    const lifetimes = publicKeys.map(({ dateExpires }) => (dateExpires ?? Number.POSITIVE_INFINITY) - now);
    response.headers.set('cache-control', `public, max-age=${Math.min(MAX_AGE_S, ...lifetimes)}`);
    // The response is the same for every caller.
    response.headers.delete('vary');
    return response;
  },
});

export const keySetOperations: readonly Operation[] = [read];
