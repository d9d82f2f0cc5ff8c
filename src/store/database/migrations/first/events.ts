import type { Dialect } from '../../database.ts';

export function eventTables({ uuid, storage }: Dialect): string[] {
  const { clustered } = storage;
  return [
    // The event's number is a UUIDv7 whose last 40 bits are zero. The ids of its deliveries differ from it only in these bits.
    // `body` is the text of the request. Its type is not JSON, because the database might reorder keys or round numbers.
    // `transfer_key` and `agreement_key` are made of a hash of the ids in the payload (`store/events/subjects.ts`).
    // `superseded_by` and `outdated_by` are numbers of events. The event in `outdated_by` made this one untrue: a retraction or,
    // for a retraction, the return of the payment. Paybell does not send an outdated event again.
    // Rounds of a held event up to `retracted_round` are retracted. The column is null before the first retraction, and then
    // takes no space.
    `create table events (
      entity_id ${uuid} not null,
      no ${uuid} not null,
      network_id bigint not null,
      created_at_ms bigint not null,
      deliveries int not null,
      transfer_key bigint,
      agreement_key bigint,
      retracted_round smallint,
      superseded_by ${uuid},
      outdated_by ${uuid},
      event text collate "binary" not null,
      event_id text collate "binary",
      trace text,
      body text not null,
      primary key (entity_id, no)
    )`,
    // The number is last, so that the newest events of an agreement are found first.
    'create index events_by_transfer on events (entity_id, transfer_key, no) where transfer_key is not null',
    'create index events_by_agreement on events (entity_id, agreement_key, no) where agreement_key is not null',
    // Contains everything that the list filters by, so that a count reads the index alone.
    `create index events_unmatched on events (entity_id, no, event, network_id)
      where deliveries = 0 and superseded_by is null and event <> 'EventRetracted'`,
    // `hash` is 128 bits of SHA-256(eventId). The table is separate from `events`, so that `events` can be partitioned by day.
    `create table event_ids (
      entity_id ${uuid} not null,
      hash ${uuid} not null,
      no ${uuid} not null,
      primary key (entity_id, hash)
    ) ${clustered}`,

    // The subject of events, such as a transfer: `subject` is 128 bits of a hash. `event_no` is the last event that supersedes
    // other events of the subject, or null. `is_waited` is 1 if `supersedable` has events of the subject. The row is the lock of
    // the subject.
    `create table subjects (
      entity_id ${uuid} not null,
      subject ${uuid} not null,
      event_no ${uuid},
      is_waited smallint not null,
      primary key (entity_id, subject)
    ) ${clustered}`,
    // Events that a later event of their subject may supersede.
    `create table supersedable (
      entity_id ${uuid} not null,
      subject ${uuid} not null,
      event_no ${uuid} not null,
      primary key (entity_id, subject, event_no)
    ) ${clustered}`,
  ];
}
