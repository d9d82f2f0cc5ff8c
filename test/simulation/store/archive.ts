/**
 * Retention removes rows that the oracle has to know: tables of the simulation keep the deliveries, events and facts that were
 * deleted.
 * A redelivery deletes its row too, so that a delivery may be both here and in the queue.
 */

const TABLES = [
  'create table simulated_deliveries (entity_id UUID, id UUID, may_be_received int, webhook_no bigint, status int, attempts int, error text)',
  'create table simulated_events (entity_id UUID, no UUID, event_id text, event text)',
  'create table simulated_facts (id text, transaction_hash text, state text, revision bigint)',
] as const;

const DELETED = [
  {
    table: 'deliveries',
    keep: `insert into simulated_deliveries select OLD.entity_id, OLD.id, OLD.may_be_received, OLD.webhook_no, OLD.status, OLD.attempts, OLD.error`,
  },
  { table: 'events', keep: 'insert into simulated_events select OLD.entity_id, OLD.no, OLD.event_id, OLD.event' },
  { table: 'facts', keep: 'insert into simulated_facts select OLD.id, OLD.transaction_hash, OLD.state, OLD.revision' },
] as const;

export const ARCHIVE = {
  sqlite: [
    ...TABLES.map((sql) => sql.replaceAll('UUID', 'blob')),
    ...DELETED.map(
      ({ table, keep }) => `create trigger simulated_${table}_deleted after delete on ${table} begin ${keep}; end`,
    ),
  ],
  postgres: [
    ...TABLES.map((sql) => sql.replaceAll('UUID', 'uuid')),
    ...DELETED.flatMap(({ table, keep }) => [
      `create function simulated_keep_${table}() returns trigger language plpgsql as $$ begin ${keep}; return null; end $$`,
      `create trigger simulated_${table}_deleted after delete on ${table} for each row execute function simulated_keep_${table}()`,
    ]),
  ],
} as const;
