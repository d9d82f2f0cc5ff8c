import type { Dialect } from '../database.ts';
import type { Migration } from './migration.ts';

/** What Paybell reads from networks itself: sources, facts and how far each network was followed. */
export const chain: Migration = {
  version: 10,
  name: 'chain sources, facts and finality',
  statements: (dialect) => [
    ...extendEvents(dialect),
    ...createNetworkTables(),
    ...createSources(),
    ...createFacts(dialect),
    ...createFactEvents(dialect),
  ],
};

/**
 * `finality` of a webhook is null where it has the default of its event kind. A fan-out with a finality is for the webhooks
 * with that one; a fan-out that `retracts` an event is for those that were told of it, and waits until `wait_ms`. `fact_key`
 * keeps the events of a fact in order at endpoints that keep no other. `retracted_by` is the number of the retraction of an
 * event.
 */
function extendEvents({ uuid }: Dialect): string[] {
  return [
    'alter table webhooks add column finality text',
    // Empty for entities without such options.
    'create index webhooks_by_finality on webhooks (entity_id, network_id, event, finality) where finality is not null',
    'alter table fan_outs add column finality text',
    `alter table fan_outs add column fact_key ${uuid}`,
    `alter table fan_outs add column retracts ${uuid}`,
    'alter table fan_outs add column wait_ms bigint not null default 0',
    `alter table events add column retracted_by ${uuid}`,
  ];
}

/**
 * A network is followed by the instance that holds its lease; `token` counts the holders, so that a late one cannot write.
 * Up to `tip` the logs are stored; without its hash, an operator has said to read on after its number. `safe` and `final` only rise. `next_no` numbers the events that facts lead to. `nodes`
 * says how each node is, as JSON without its URL. An anchor is a block that was canonical when it was read.
 */
function createNetworkTables(): string[] {
  return [
    `create table chains (
      network_id bigint primary key,
      token bigint not null default 0,
      holder text,
      lease_ms bigint not null default 0,
      tip_number bigint,
      tip_hash text,
      head bigint,
      safe bigint,
      final bigint,
      range_blocks bigint,
      block_time_ms bigint,
      next_no bigint not null default 1,
      polled_at_ms bigint,
      halted_at_ms bigint,
      halted_reason text,
      nodes text
    )`,
    `create table chain_anchors (
      network_id bigint not null,
      number bigint not null,
      hash text not null,
      primary key (network_id, number)
    )`,
    // Null for a token that does not say how many decimals it has.
    `create table chain_tokens (
      network_id bigint not null,
      address text collate "binary" not null,
      decimals smallint,
      primary key (network_id, address)
    )`,
  ];
}

/**
 * `definition` is what the entity asked for, as JSON, and `hash` tells equal ones apart. `topics` is a JSON list of the values that
 * each topic of a log may have. Blocks up to `created_head` are
 * history. Blocks from `next_block` to `last_block` are still to be read for this source alone; both are null until the
 * network's holder has seen it.
 */
function createSources(): string[] {
  return [
    `create table sources (
      entity_id text collate "binary" not null references entities (id),
      id text collate "binary" not null,
      network_id bigint not null,
      contract text collate "binary" not null,
      topic text collate "binary" not null,
      topics text,
      hash text collate "binary" not null,
      definition text not null,
      from_block bigint not null,
      created_head bigint not null,
      deliver_history smallint not null,
      next_block bigint,
      last_block bigint,
      paused_at_ms bigint,
      paused_reason text,
      created_at bigint not null,
      primary key (entity_id, id)
    )`,
    'create unique index sources_by_hash on sources (entity_id, hash)',
    'create index sources_by_network on sources (network_id)',
  ];
}

/**
 * A fact is what a chain said in a transaction, wherever that transaction now stands: its block and its log index are its
 * position. `kind` is an event kind, or `Transfer` for one that is processed first and finalized later. The fact of an event
 * that was sent to be held has the number of that event and no log. `lost_at_head` is the height at which its block was found
 * to be gone. `is_silent` facts are history that is not delivered.
 */
function createFacts({ uuid }: Dialect): string[] {
  return [
    `create table facts (
      entity_id text collate "binary" not null references entities (id),
      id text collate "binary" not null,
      network_id bigint not null,
      source_id text collate "binary",
      state text collate "binary" not null,
      revision bigint not null,
      kind text not null,
      is_silent smallint not null,
      transaction_hash text collate "binary" not null,
      contract text collate "binary",
      block_number bigint,
      block_hash text,
      log_index bigint,
      lost_at_head bigint,
      transfer_id text collate "binary",
      agreement_id text collate "binary",
      event_no ${uuid},
      fields text not null,
      created_at_ms bigint not null,
      changed_at_ms bigint not null,
      primary key (entity_id, id)
    )`,
    'create index facts_by_id on facts (id)',
    'create index facts_by_block on facts (network_id, block_number)',
    `create index facts_lost on facts (network_id) where state = 'lost'`,
    `create index facts_waiting on facts (network_id, changed_at_ms) where state = 'waiting'`,
    'create index facts_by_date on facts (entity_id, created_at_ms, id)',
    'create index facts_by_state on facts (entity_id, state, created_at_ms, id)',
    'create index facts_by_transaction on facts (entity_id, transaction_hash)',
    'create index facts_by_transfer on facts (entity_id, transfer_id) where transfer_id is not null',
    'create index facts_by_agreement on facts (entity_id, agreement_id) where agreement_id is not null',
    // Every state that a fact had and every position, numbered from 1.
    `create table fact_history (
      entity_id text collate "binary" not null,
      fact_id text collate "binary" not null,
      no bigint not null,
      at_ms bigint not null,
      state text not null,
      revision bigint not null,
      block_number bigint,
      block_hash text,
      log_index bigint,
      primary key (entity_id, fact_id, no)
    )`,
  ];
}

/**
 * The events that facts lead to, each once. One without `event_no` has not been accepted yet and still has its body; the
 * holder of the network accepts them in the order of `no`. Of a retraction, `finality` names what it retracts.
 */
function createFactEvents({ uuid }: Dialect): string[] {
  return [
    `create table fact_events (
      entity_id text collate "binary" not null,
      fact_id text collate "binary" not null,
      revision bigint not null,
      event text collate "binary" not null,
      finality text collate "binary" not null,
      network_id bigint not null,
      no bigint not null,
      event_no ${uuid},
      body text,
      primary key (entity_id, fact_id, revision, event, finality)
    )`,
    'create index fact_events_by_event on fact_events (entity_id, event_no) where event_no is not null',
    'create index fact_events_waiting on fact_events (network_id, no) where event_no is null',
  ];
}
