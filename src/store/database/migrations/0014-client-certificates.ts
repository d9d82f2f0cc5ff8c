import type { Migration } from './migration.ts';

/** What connections to an endpoint identify themselves with. */
export const clientCertificates: Migration = {
  version: 14,
  name: 'client certificates of endpoints',
  statements: [
    // Sealed is the chain with its private key. The other columns are what anyone may see of it: `expires_at` is that of the
    // certificate in the chain that expires first.
    `create table endpoint_certificates (
      entity_id text collate "binary" not null references entities (id),
      endpoint_no bigint not null,
      subject text not null,
      fingerprint text not null,
      expires_at bigint not null,
      sealed text not null,
      primary key (entity_id, endpoint_no)
    )`,
  ],
};
