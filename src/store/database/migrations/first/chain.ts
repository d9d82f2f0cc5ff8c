import type { Dialect } from '../../database.ts';

/** Networks that Paybell reads, with the sources, the facts and the progress of each. */
export function chainTables(dialect: Dialect): string[] {
  return [...NETWORK_TABLES, ...SOURCE_TABLES, ...factTables(dialect), ...factEventTables(dialect)];
}

const NETWORK_TABLES: readonly string[] = [
  // The instance that holds the lease follows the network. `token` counts the holders, so that a late holder cannot write.
  // Logs are stored up to `tip`. A tip without a hash means that an operator decided to continue after its number. `safe` and
  // `final` only rise. `read_final` is null unless the network is read by account: all payments up to it are stored.
  // `next_no` numbers the events of facts. `nodes` describes each node, as JSON without its URL.
  // `tip_s` is the timestamp of the tip, or of an earlier tip if no node stated it. `head_s` is the timestamp of the head, and
  // `head_changed_at_ms` the time at which Paybell saw another head.
  // The columns `least_…` are the learned depth of finality (`domain/chain/witnesses.ts`), and `final_lag_ms` is the usual lag of
  // finality.
  // A network in trouble has `stalled_since_ms`, and an alert follows after some minutes.
  // `address_revision` numbers the changes of address books on the network, and `address_count` counts their rows.
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
    read_final bigint,
    range_blocks bigint,
    block_time_ms bigint,
    next_no bigint not null default 1,
    polled_at_ms bigint,
    halted_at_ms bigint,
    halted_reason text,
    nodes text,
    head_s bigint,
    head_changed_at_ms bigint,
    least_final_depth bigint,
    least_next_depth bigint,
    least_since_ms bigint,
    final_lag_ms bigint,
    witnesses_needed bigint,
    stalled_since_ms bigint,
    stalled_reason text,
    stalled_node text,
    is_stall_alerted smallint not null default 0,
    address_revision bigint not null default 0,
    address_count bigint not null default 0,
    tip_s bigint
  )`,
  // Alerts about a network that are still to be queued, in the order of `no`. An alert without an entity is for every entity with
  // a source on the network, and `alerted_to` is the last entity that got it.
  `create table chain_alerts (
    network_id bigint not null,
    no bigint not null,
    entity_id text collate "binary",
    event text not null,
    about text not null,
    alerted_to text collate "binary" not null,
    primary key (network_id, no)
  )`,
  // An anchor is a block that was canonical when it was read.
  `create table chain_anchors (
    network_id bigint not null,
    number bigint not null,
    hash text not null,
    primary key (network_id, number)
  )`,
  // How far an account was read on a network that is read by account. All its transactions up to `cursor_slot` are stored, and
  // its balance after them was `cursor_balance`. The next list of transactions ends at `until_signature`, which is of an earlier
  // slot; `last_signature` is of `cursor_slot`. The account belongs to `wallet` and holds the token `contract`.
  `create table chain_accounts (
    network_id bigint not null,
    account text collate "binary" not null,
    wallet text collate "binary" not null,
    contract text collate "binary" not null,
    cursor_slot bigint not null,
    cursor_balance text not null,
    until_signature text,
    last_signature text,
    swept_at_ms bigint not null,
    primary key (network_id, account)
  )`,
  'create index chain_accounts_by_wallet on chain_accounts (network_id, wallet)',
  // `decimals` and `symbol` are null if the token does not return them. A listed token has no `symbol` here.
  `create table chain_tokens (
    network_id bigint not null,
    address text collate "binary" not null,
    decimals smallint,
    symbol text,
    primary key (network_id, address)
  )`,
];

const SOURCE_TABLES: readonly string[] = [
  // `definition` is the entity's request, as JSON, and `hash` is equal for equal requests. `topics` is a JSON list of the values that
  // each topic of a log may have.
  // Blocks up to `created_head` are history. Blocks from `next_block` to `last_block` must still be read for this source alone.
  // Both are null until the network's holder has seen the source. A resume or a new definition sets `last_block` to null again.
  // `definition` counts from the block `applies_from` on; `earlier` is a JSON list of the definitions before it, each with its
  // last block.
  // Blocks up to `paused_block` were final when the source was paused, by a request or by a flood (`paused_by`). After a flood,
  // the source is tried again at `retry_at_ms`, which is `retry_wait_ms` after the pause.
  // A source with an address book has the topic of the addresses in `book_place`, 1 to 3. `book_revision` is the number of the
  // last change of its book, and `address_count` the number of addresses that were not removed.
  // Polls know the changes up to `book_read`. Later changes count from the block `book_from` on
  // (`store/chain/addresses/unread.ts`).
  // The blocks that must still be read for the source alone were read for the addresses up to `unread_revision`.
  // `reread_revision` is the number of the last change that made the source read earlier blocks again.
  // `is_for_invoices` is 1 if invoices have created the source, which the API cannot change.
  // `log_requests` and `logs_received` meter what the source costs (`chain/follow/source-meter.ts`).
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
    paused_block bigint,
    paused_by text collate "binary",
    retry_at_ms bigint,
    retry_wait_ms bigint,
    name text,
    revision bigint not null default 1,
    applies_from bigint not null,
    earlier text,
    log_requests bigint not null default 0,
    logs_received bigint not null default 0,
    book_place smallint,
    book_revision bigint not null default 0,
    book_read bigint not null default 0,
    book_from bigint not null default 0,
    unread_revision bigint not null default 0,
    reread_revision bigint not null default 0,
    address_count bigint not null default 0,
    is_for_invoices smallint not null default 0,
    created_at bigint not null,
    primary key (entity_id, id)
  )`,
  'create unique index sources_by_hash on sources (entity_id, hash)',
  'create index sources_by_network on sources (network_id)',
  'create index sources_paused on sources (entity_id) where paused_at_ms is not null',
  // The address books of sources. An address counts from the block `from_block` on. A removed one counts up to `until_block`, and
  // its row stays until that block is final, because a reorg may bring its payments into other blocks. `revision` is the number
  // of the row's last change: a follower reads the rows with a higher revision than it knows.
  `create table source_addresses (
    network_id bigint not null,
    address text collate "binary" not null,
    entity_id text collate "binary" not null,
    source_id text collate "binary" not null,
    agreement_id text,
    reference text,
    from_block bigint not null,
    until_block bigint,
    revision bigint not null,
    created_at bigint not null,
    primary key (network_id, address, entity_id, source_id)
  )`,
  'create index source_addresses_by_revision on source_addresses (entity_id, source_id, revision, address)',
  'create index source_addresses_removed on source_addresses (network_id, until_block) where until_block is not null',
];

function factTables({ uuid }: Dialect): string[] {
  return [
    // A fact is a log or a transaction, even if a reorg moves it. Its block and its log index are its present position.
    // `kind` is an event kind, or `Transfer` for a payment that is processed first and finalized later. The fact of a held event
    // has the number of that event and no log.
    // `lost_at_head` is the height at which its block was found to be gone. `is_silent` facts are history that is not delivered.
    // `seen_revision` is the revision of the entity's registry when this revision of the fact was first seen: each webhook gets
    // the fact at the finality that the webhook had then. Rules by amount compare `rule_amount`; without it, no such rule applies
    // (`domain/chain/finality-by-amount.ts`).
    // A held event without a block has a transaction for which a node was last asked at `asked_at_ms`, and which was absent
    // `absences` times in a row. The next request is due at the head `next_ask_block`; null means never.
    // `votes` has the nodes that showed or denied the log in this block, as JSON. While nodes are tied, the fact `is_disputed`,
    // and Paybell sends no event for it.
    // A fact that `is_payment` also has the accounts in lower case, the amount as text that sorts exactly
    // (`domain/chain/payments.ts`), and the time of its block if the node stated it. A payment that `is_dust` is below the least
    // amount of its source.
    // A payment of an invoice has `invoice_id`, and its amount in the smallest unit as `invoice_base`.
    // `history` has every state and position that the fact had (`store/chain/facts/fact-history.ts`).
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
      seen_revision bigint not null default 0,
      asked_at_ms bigint,
      next_ask_block bigint,
      absences bigint not null default 0,
      fields text not null,
      votes text,
      is_disputed smallint not null default 0,
      is_payment smallint not null default 0,
      is_dust smallint not null default 0,
      payer text collate "binary",
      payee text collate "binary",
      token text collate "binary",
      amount text collate "binary",
      rule_amount text collate "binary",
      block_s bigint,
      invoice_id text collate "binary",
      invoice_base text,
      history text not null default '',
      created_at_ms bigint not null,
      changed_at_ms bigint not null,
      primary key (entity_id, id)
    )`,
    'create index facts_by_block on facts (network_id, block_number)',
    // Contains only the few facts that are not final yet.
    `create index facts_seen on facts (network_id, block_number) where state = 'seen'`,
    `create index facts_lost on facts (network_id, block_number) where state = 'lost'`,
    `create index facts_waiting on facts (network_id) where state = 'waiting'`,
    'create index facts_asked on facts (network_id, entity_id, next_ask_block) where next_ask_block is not null',
    'create index facts_asked_at on facts (network_id, entity_id, asked_at_ms) where next_ask_block is not null',
    'create index facts_by_date on facts (entity_id, created_at_ms, id)',
    // Leaves out final facts, which are most facts. A list of final facts reads the order by date.
    `create index facts_by_state on facts (entity_id, state, created_at_ms, id) where state <> 'final'`,
    'create index facts_by_transaction on facts (entity_id, transaction_hash)',
    'create index facts_by_transfer on facts (entity_id, transfer_id) where transfer_id is not null',
    'create index facts_by_agreement on facts (entity_id, agreement_id) where agreement_id is not null',
    // A list of all networks reads the newest payments of each.
    'create index payments_by_network on facts (entity_id, network_id, created_at_ms, id) where is_payment = 1',
    // A day of payments by the date of their blocks. Not every node states that date, and no day has a payment without it.
    'create index payments_by_block_date on facts (entity_id, block_s, id) where is_payment = 1 and block_s is not null',
    'create index payments_by_payer on facts (entity_id, network_id, payer, created_at_ms, id) where is_payment = 1',
    'create index payments_by_payee on facts (entity_id, network_id, payee, created_at_ms, id) where is_payment = 1',
    'create index payments_by_amount on facts (entity_id, amount, created_at_ms, id) where is_payment = 1',
    // A range of amounts is counted without reading the rows.
    'create index payments_by_token on facts (entity_id, token, created_at_ms, id, amount) where is_payment = 1',
    'create index facts_by_invoice on facts (entity_id, invoice_id, created_at_ms, id) where invoice_id is not null',
    // Contains only the facts of held events.
    'create index facts_held on facts (entity_id, event_no) where event_no is not null',
  ];
}

function factEventTables({ uuid }: Dialect): string[] {
  return [
    // Each event that a fact led to. A row without `event_no` was not accepted yet and still has its body. The holder of the
    // network accepts such rows in the order of `no`. In a retraction, `finality` names the event it retracts.
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
