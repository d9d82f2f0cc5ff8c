import type { FactState } from '../../domain/chain/facts.ts';
import type { InvoiceMatch } from '../../domain/chain/invoices/invoice-state.ts';
import { integer, nullable, text, uuid } from '../database/sql.ts';
import { Table } from '../database/table.ts';
import type { StallReason } from './network-store.ts';

/** The tables of facts and networks, with their columns; the migration says what each is for. */

export const networkTable = new Table('chains', {
  networkId: integer('network_id'),
  token: integer('token'),
  holder: nullable(text('holder')),
  leaseMs: integer('lease_ms'),
  tipNumber: nullable(integer('tip_number')),
  tipHash: nullable(text('tip_hash')),
  head: nullable(integer('head')),
  safe: nullable(integer('safe')),
  final: nullable(integer('final')),
  rangeBlocks: nullable(integer('range_blocks')),
  blockTimeMs: nullable(integer('block_time_ms')),
  nextNo: integer('next_no'),
  polledAtMs: nullable(integer('polled_at_ms')),
  haltedAtMs: nullable(integer('halted_at_ms')),
  haltedReason: nullable(text('halted_reason')),
  nodes: nullable(text('nodes')),
  headS: nullable(integer('head_s')),
  headChangedAtMs: nullable(integer('head_changed_at_ms')),
  leastFinalDepth: nullable(integer('least_final_depth')),
  leastNextDepth: nullable(integer('least_next_depth')),
  leastSinceMs: nullable(integer('least_since_ms')),
  finalLagMs: nullable(integer('final_lag_ms')),
  witnessesNeeded: nullable(integer('witnesses_needed')),
  stalledSinceMs: nullable(integer('stalled_since_ms')),
  stalledReason: nullable(text<StallReason>('stalled_reason')),
  stalledNode: nullable(text('stalled_node')),
  isStallAlerted: integer('is_stall_alerted'),
  addressRevision: integer('address_revision'),
  addressCount: integer('address_count'),
  tipS: nullable(integer('tip_s')),
});

export const chainAlertTable = new Table('chain_alerts', {
  networkId: integer('network_id'),
  no: integer('no'),
  entityId: nullable(text('entity_id')),
  event: text('event'),
  about: text('about'),
  alertedTo: text('alerted_to'),
});

/** The index of facts by state serves only statements with this text. */
export const IS_NOT_FINAL = `state <> 'final'`;

export const factTable = new Table('facts', {
  entityId: text('entity_id'),
  factId: text('id'),
  networkId: integer('network_id'),
  sourceId: nullable(text('source_id')),
  state: text<FactState>('state'),
  revision: integer('revision'),
  kind: text('kind'),
  isSilent: integer('is_silent'),
  transactionHash: text('transaction_hash'),
  contract: nullable(text('contract')),
  blockNumber: nullable(integer('block_number')),
  blockHash: nullable(text('block_hash')),
  logIndex: nullable(integer('log_index')),
  lostAtHead: nullable(integer('lost_at_head')),
  transferId: nullable(text('transfer_id')),
  agreementId: nullable(text('agreement_id')),
  eventNo: nullable(uuid('event_no')),
  seenRevision: integer('seen_revision'),
  askedAtMs: nullable(integer('asked_at_ms')),
  nextAskBlock: nullable(integer('next_ask_block')),
  absences: integer('absences'),
  fields: text('fields'),
  votes: nullable(text('votes')),
  isDisputed: integer('is_disputed'),
  isPayment: integer('is_payment'),
  isDust: integer('is_dust'),
  payer: nullable(text('payer')),
  payee: nullable(text('payee')),
  token: nullable(text('token')),
  amount: nullable(text('amount')),
  ruleAmount: nullable(text('rule_amount')),
  blockS: nullable(integer('block_s')),
  invoiceId: nullable(text('invoice_id')),
  invoiceBase: nullable(text('invoice_base')),
  history: text('history'),
  createdAtMs: integer('created_at_ms'),
  changedAtMs: integer('changed_at_ms'),
});

export const factEventTable = new Table('fact_events', {
  entityId: text('entity_id'),
  factId: text('fact_id'),
  revision: integer('revision'),
  event: text('event'),
  finality: text('finality'),
  networkId: integer('network_id'),
  no: integer('no'),
  eventNo: nullable(uuid('event_no')),
  body: nullable(text('body')),
});

/** Who paused a source. After a flood, Paybell tries it again by itself. */
export type PausedBy = 'request' | 'flood';

export const sourceTable = new Table('sources', {
  entityId: text('entity_id'),
  sourceId: text('id'),
  networkId: integer('network_id'),
  contract: text('contract'),
  topic: text('topic'),
  topics: nullable(text('topics')),
  hash: text('hash'),
  definition: text('definition'),
  fromBlock: integer('from_block'),
  createdHead: integer('created_head'),
  deliverHistory: integer('deliver_history'),
  nextBlock: nullable(integer('next_block')),
  lastBlock: nullable(integer('last_block')),
  pausedAtMs: nullable(integer('paused_at_ms')),
  pausedReason: nullable(text('paused_reason')),
  pausedBlock: nullable(integer('paused_block')),
  pausedBy: nullable(text<PausedBy>('paused_by')),
  retryAtMs: nullable(integer('retry_at_ms')),
  retryWaitMs: nullable(integer('retry_wait_ms')),
  name: nullable(text('name')),
  revision: integer('revision'),
  appliesFrom: integer('applies_from'),
  earlier: nullable(text('earlier')),
  logRequests: integer('log_requests'),
  logsReceived: integer('logs_received'),
  bookPlace: nullable(integer('book_place')),
  bookRevision: integer('book_revision'),
  bookRead: integer('book_read'),
  bookFrom: integer('book_from'),
  unreadRevision: integer('unread_revision'),
  rereadRevision: integer('reread_revision'),
  addressCount: integer('address_count'),
  isForInvoices: integer('is_for_invoices'),
  dateCreated: integer('created_at'),
});

export const NEW_SOURCE = sourceTable.insertion([
  'entityId',
  'sourceId',
  'networkId',
  'contract',
  'topic',
  'topics',
  'hash',
  'definition',
  'fromBlock',
  'createdHead',
  'deliverHistory',
  'appliesFrom',
  'name',
  'bookPlace',
  'isForInvoices',
  'dateCreated',
]);

export const sourceAddressTable = new Table('source_addresses', {
  networkId: integer('network_id'),
  address: text('address'),
  entityId: text('entity_id'),
  sourceId: text('source_id'),
  agreementId: nullable(text('agreement_id')),
  reference: nullable(text('reference')),
  fromBlock: integer('from_block'),
  untilBlock: nullable(integer('until_block')),
  revision: integer('revision'),
  dateCreated: integer('created_at'),
});

export const invoiceTable = new Table('invoices', {
  entityId: text('entity_id'),
  invoiceId: text('id'),
  networkId: integer('network_id'),
  sourceId: text('source_id'),
  token: text('token'),
  address: text('address'),
  shownToken: text('shown_token'),
  shownAddress: text('shown_address'),
  match: text<InvoiceMatch>('match_kind'),
  amount: text('amount'),
  base: text('base'),
  decimals: integer('decimals'),
  tolerance: integer('tolerance'),
  dateExpires: integer('expires_at'),
  watchDays: integer('watch_days'),
  dateWatchedUntil: integer('watched_until'),
  agreementId: nullable(text('agreement_id')),
  transferId: text('transfer_id'),
  reference: nullable(text('reference')),
  metadata: nullable(text('metadata')),
  hash: text('hash'),
  fromBlock: integer('from_block'),
  untilBlock: nullable(integer('until_block')),
  bookRevision: integer('book_revision'),
  passedBlock: nullable(integer('passed_block')),
  lateBlock: nullable(integer('late_block')),
  versions: text('versions'),
  unexplained: nullable(text('unexplained')),
  checkedAtMs: nullable(integer('checked_at_ms')),
  balanceDue: integer('balance_due'),
  dateCancelled: nullable(integer('cancelled_at')),
  dateCreated: integer('created_at'),
});

export const tokenTable = new Table('chain_tokens', {
  networkId: integer('network_id'),
  address: text('address'),
  decimals: nullable(integer('decimals')),
  symbol: nullable(text('symbol')),
});

export const anchorTable = new Table('chain_anchors', {
  networkId: integer('network_id'),
  number: integer('number'),
  hash: text('hash'),
});

export const accountTable = new Table('chain_accounts', {
  networkId: integer('network_id'),
  account: text('account'),
  cursorSlot: integer('cursor_slot'),
  cursorBalance: text('cursor_balance'),
  untilSignature: nullable(text('until_signature')),
  lastSignature: nullable(text('last_signature')),
  sweptAtMs: integer('swept_at_ms'),
});
