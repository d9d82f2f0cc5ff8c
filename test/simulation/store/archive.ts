/**
 * Rows change and go that the oracle has to know. Tables of the simulation keep the deliveries, events, facts and invoices that
 * retention deleted, and the deliveries whose claim was returned unsent. A redelivery deletes its row too, so that a delivery may be both
 * here and in the queue.
 */

const TABLES = [
  'create table simulated_deliveries (entity_id UUID, id UUID, may_be_received int, webhook_no bigint, status int, attempts int, error text, no SERIAL)',
  'create table simulated_events (entity_id UUID, no UUID, event_id text, event text, body text)',
  'create table simulated_facts (id text, transaction_hash text, state text, revision bigint)',
  'create table simulated_invoices (id text)',
  'create table simulated_returns (entity_id UUID, id UUID)',
] as const;

const KEPT = [
  {
    name: 'deliveries',
    after: 'delete on deliveries',
    when: 'true',
    keep: `insert into simulated_deliveries (entity_id, id, may_be_received, webhook_no, status, attempts, error)
      select OLD.entity_id, OLD.id, OLD.may_be_received, OLD.webhook_no, OLD.status, OLD.attempts, OLD.error`,
  },
  {
    name: 'events',
    after: 'delete on events',
    when: 'true',
    keep: 'insert into simulated_events select OLD.entity_id, OLD.no, OLD.event_id, OLD.event, OLD.body',
  },
  {
    name: 'facts',
    after: 'delete on facts',
    when: 'true',
    keep: 'insert into simulated_facts select OLD.id, OLD.transaction_hash, OLD.state, OLD.revision',
  },
  {
    name: 'invoices',
    after: 'delete on invoices',
    when: 'true',
    keep: 'insert into simulated_invoices select OLD.id',
  },
  {
    name: 'returns',
    after: 'update on queue',
    when: 'OLD.may_be_received = 1 and NEW.may_be_received = 0',
    keep: 'insert into simulated_returns select OLD.entity_id, OLD.id',
  },
] as const;

export const ARCHIVE = {
  sqlite: [
    ...TABLES.map((sql) => sql.replaceAll('UUID', 'blob').replace('SERIAL', 'integer primary key')),
    ...KEPT.map(
      ({ name, after, when, keep }) =>
        `create trigger simulated_${name}_kept after ${after} for each row when (${when}) begin ${keep}; end`,
    ),
  ],
  postgres: [
    ...TABLES.map((sql) => sql.replaceAll('UUID', 'uuid').replace('SERIAL', 'bigserial')),
    ...KEPT.flatMap(({ name, after, when, keep }) => [
      `create function simulated_keep_${name}() returns trigger language plpgsql as $$ begin ${keep}; return null; end $$`,
      `create trigger simulated_${name}_kept after ${after} for each row when (${when}) execute function simulated_keep_${name}()`,
    ]),
  ],
} as const;
