import type { Dialect } from '../../database.ts';

/** Listen sessions pass events to a program without a public URL. */
export function listenTables({ uuid, storage }: Dialect): string[] {
  const { clustered, updatedInPlace } = storage;
  return [
    // `seen_ms` is when the session's reader was last connected, and `reader` is its newest connection. `dropped` counts the
    // requests that found the session full. The API does not show an `ended` session, whose rows are removed in steps. `wanted`
    // lists the events that the session takes, as JSON.
    `create table listen_sessions (
      entity_id ${uuid} not null,
      id ${uuid} not null,
      entity text collate "binary" not null references entities (id),
      created_at_ms bigint not null,
      seen_ms bigint not null,
      ended smallint not null default 0,
      dropped bigint not null default 0,
      reader ${uuid},
      sealed text not null,
      wanted text not null,
      primary key (entity_id, id)
    ) ${updatedInPlace}`,
    // A reader has a request under a token, until `lease_ms`. `done_at_ms` is set once the request was reported or dropped. The
    // row stays for a while, because a later report with the same token must be recognised.
    `create table listen_requests (
      entity_id ${uuid} not null,
      session_id ${uuid} not null,
      id ${uuid} not null,
      event_no ${uuid} not null,
      reader ${uuid},
      token ${uuid},
      lease_ms bigint not null default 0,
      attempt int not null default 0,
      done_at_ms bigint,
      primary key (entity_id, session_id, id)
    ) ${clustered}`,
    'create index listen_requests_by_id on listen_requests (entity_id, id)',
    'create index listen_requests_waiting on listen_requests (entity_id, session_id, id) where done_at_ms is null',
    'create index listen_requests_done on listen_requests (done_at_ms) where done_at_ms is not null',
  ];
}
