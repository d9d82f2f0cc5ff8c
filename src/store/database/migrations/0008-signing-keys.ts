import type { Migration } from './migration.ts';

/** Several key pairs for each entity, so that one can be rotated with an overlap. */
export const signingKeys: Migration = {
  version: 8,
  name: 'rotation of signing keys',
  statements: [
    // SQLite cannot change a primary key, so the table is made again. It has one row for each entity.
    'create table signing_keys_before as select entity_id, public_key, sealed, created_at from signing_keys',
    'drop table signing_keys',
    `create table signing_keys (
      entity_id text collate "binary" not null references entities (id),
      public_key text collate "binary" not null,
      sealed text not null,
      created_at bigint not null,
      expires_at bigint,
      primary key (entity_id, public_key)
    )`,
    `insert into signing_keys (entity_id, public_key, sealed, created_at)
     select entity_id, public_key, sealed, created_at from signing_keys_before`,
    'drop table signing_keys_before',
  ],
};
