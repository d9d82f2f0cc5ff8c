import type { ClientCertificate } from '../../domain/endpoints/client-certificate.ts';
import type { RequestHeaders } from '../../domain/endpoints/request-headers.ts';
import type { Database } from '../database/database.ts';
import type { SecretBox } from '../tenants/secret-box.ts';
import { type SigningMaterial, signingMaterialIn } from '../tenants/secrets.ts';
import { readClientCertificate } from './certificates/certificates.ts';
import { readHeaders } from './request-headers.ts';
import { readEndpointSecrets } from './secrets.ts';

/**
 * Credentials of requests to an endpoint: secrets that sign, headers to send, and the certificate of the connection.
 */
export type EndpointCredentials = Pick<SigningMaterial, 'secrets' | 'signingKeys'> & {
  headers: RequestHeaders;
  certificate: ClientCertificate | null;
};

type Target = { entityId: string; endpointNo: number; withSigningKeys: boolean };

/** Newest secrets first. The secrets of the present source come first: the endpoint's own secrets, or the entity's secrets. */
export function readEndpointCredentials(
  db: Database,
  box: SecretBox,
  { entityId, endpointNo, withSigningKeys }: Target,
  nowS: number,
): Promise<EndpointCredentials> {
  return db.snapshot(async (queries) => {
    const ofEntity = await signingMaterialIn(queries, box, entityId, nowS, withSigningKeys);
    const { own, source, entitySecretsUntil } = await readEndpointSecrets(
      queries,
      db.dialect,
      box,
      entityId,
      endpointNo,
      nowS,
    );
    const shared = ofEntity.secrets.map(({ stored, dateExpires }) => {
      const untilS = Math.min(dateExpires ?? Number.POSITIVE_INFINITY, entitySecretsUntil ?? Number.POSITIVE_INFINITY);
      return { stored, dateExpires: Number.isFinite(untilS) ? untilS : null };
    });
    const overlapping = entitySecretsUntil === null ? [] : shared;
    return {
      secrets: source === 'own' ? [...own, ...overlapping] : [...shared, ...own],
      signingKeys: ofEntity.signingKeys,
      headers: await readHeaders(queries, box, entityId, endpointNo),
      certificate: await readClientCertificate(queries, box, entityId, endpointNo),
    };
  });
}
