/** An invoice is an expected payment. No column has its state, which follows from the payments. */
export const INVOICE_TABLES: readonly string[] = [
  // `token` and `address` are in lower case, and the `shown_` columns have them with their checksum. `amount` is the decimal of
  // the request, and `base` the same in the smallest unit. `hash` identifies equal terms.
  // Payments in blocks from `from_block` to `until_block` count; `until_block` is null while the address is watched.
  // The source `source_id` reads the payments, and `book_revision` is the number under which its address book took the address.
  // `passed_block` is the tip at which the expiry had passed, and `late_block` the tip at which too little had been paid.
  // `versions` counts the events of the invoice by finality, as JSON.
  // `unexplained` is the balance that no payment explains, in the smallest unit, at `checked_at_ms`.
  // `balance_due` is 1 from the moment an invoice in the coin was called late until a node was asked for the balance.
  `create table invoices (
    entity_id text collate "binary" not null references entities (id),
    id text collate "binary" not null,
    network_id bigint not null,
    source_id text collate "binary" not null,
    token text collate "binary" not null,
    address text collate "binary" not null,
    shown_token text not null,
    shown_address text not null,
    match_kind text collate "binary" not null,
    amount text not null,
    base text collate "binary" not null,
    decimals smallint not null,
    tolerance smallint not null,
    expires_at bigint not null,
    watch_days smallint not null,
    watched_until bigint not null,
    agreement_id text collate "binary",
    transfer_id text collate "binary" not null,
    reference text collate "binary",
    metadata text,
    hash text collate "binary" not null,
    from_block bigint not null,
    until_block bigint,
    book_revision bigint not null,
    passed_block bigint,
    late_block bigint,
    versions text not null default '{}',
    unexplained text,
    checked_at_ms bigint,
    balance_due smallint not null default 0,
    cancelled_at bigint,
    created_at bigint not null,
    primary key (entity_id, id)
  )`,
  'create unique index invoices_by_reference on invoices (entity_id, reference) where reference is not null',
  // Allows one open invoice for each address, or for each amount at an address.
  `create unique index invoices_of_address on invoices (entity_id, network_id, token, address)
     where until_block is null and match_kind = 'address'`,
  `create unique index invoices_of_amount on invoices (entity_id, network_id, token, address, base)
     where until_block is null and match_kind = 'exact'`,
  'create index invoices_by_date on invoices (entity_id, created_at, id)',
  'create index invoices_by_expiry on invoices (entity_id, expires_at, id)',
  'create index invoices_by_address on invoices (entity_id, address, created_at)',
  'create index invoices_by_transfer on invoices (entity_id, transfer_id)',
  'create index invoices_by_agreement on invoices (entity_id, agreement_id) where agreement_id is not null',
  // Contains only the few invoices that the holder of the network checks after each step.
  'create index invoices_open on invoices (network_id, expires_at) where passed_block is null and until_block is null',
  'create index invoices_balance_due on invoices (network_id) where balance_due = 1',
  'create index invoices_watched on invoices (network_id, watched_until) where until_block is null',
];
