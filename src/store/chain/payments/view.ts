import type { Payment } from '../../../contract/chain/payments.ts';
import { kindsOf } from '../../../domain/chain/facts.ts';
import { caip2, rulesOf } from '../../../domain/chain/families/families.ts';
import { finalityOf, reachedBlock } from '../../../domain/chain/finality.ts';
import { amountOfKey, partyOf, paymentIdOf } from '../../../domain/chain/payments.ts';
import { listedSymbol, type StatedToken } from '../../../domain/chain/tokens.ts';
import { readNowMs } from '../../database/clock.ts';
import type { Dialect, Queries } from '../../database/database.ts';
import { Columns, nullable, type RowOf, seconds, text } from '../../database/sql.ts';
import type { RegistryMoment } from '../../webhooks/option-changes.ts';
import { factTable } from '../tables.ts';
import { readTokens } from '../tokens.ts';
import { readWanted, type Wanted } from '../wanted.ts';
import type { NetworkLevels } from './levels.ts';
import { countDeliveries, type DeliveryTotals, type PublishedEvent, readPublishedEvents } from './published-events.ts';

/** Payments as the API shows them. The state, the confirmations and the wait come from the levels of the network. */

/** Longer fields are not read, because a log can fill hundreds of kilobytes. The columns have the few fields that a payment needs. */
const MAX_FIELDS_BYTES = 16_384;

export const paymentRowColumns = new Columns({
  ...factTable.pick([
    'factId',
    'networkId',
    'sourceId',
    'state',
    'revision',
    'kind',
    'isSilent',
    'isDust',
    'isDisputed',
    'transactionHash',
    'blockNumber',
    'blockHash',
    'logIndex',
    'blockS',
    'transferId',
    'agreementId',
    'invoiceId',
    'payer',
    'payee',
    'token',
    'amount',
    'ruleAmount',
    'seenRevision',
    'eventNo',
  ]).shape,
  fields: nullable(text(`case when octet_length(fields) <= ${MAX_FIELDS_BYTES} then fields end`)),
  dateCreated: seconds('created_at_ms'),
  dateChanged: seconds('changed_at_ms'),
});
export type PaymentRow = RowOf<typeof paymentRowColumns>;

export async function toPayments(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  rows: readonly PaymentRow[],
  networks: ReadonlyMap<number, NetworkLevels>,
): Promise<Payment[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ factId }) => factId);
  const [nowMs, events, shared] = await Promise.all([
    readNowMs(queries, dialect),
    readPublishedEvents(queries, entityId, ids),
    readShared(queries, entityId, rows),
  ]);
  const numbers = (row: PaymentRow) => eventNumbers(dialect, row, events.get(row.factId) ?? []);
  const totals = await countDeliveries(queries, dialect, entityId, [...new Set(rows.flatMap(numbers))]);
  return rows.map((row) => {
    const network = networks.get(row.networkId) ?? null;
    const { stated, wanted = null } = shared.get(row.networkId) ?? {};
    const own = events.get(row.factId) ?? [];
    return {
      ...toPayment(row, network, stated?.get(row.token ?? '') ?? null),
      waitsFor: wanted === null || !mayWait(row) ? null : waitsFor(row, own, { entityId, wanted, network, nowMs }),
      deliveries: sum(numbers(row).map((no) => totals.get(no))),
    };
  });
}

type Shared = { readonly stated: ReadonlyMap<string, StatedToken>; readonly wanted: Wanted | null };

/** Reads the tokens and the wanted finalities of each network once. */
async function readShared(
  queries: Queries,
  entityId: string,
  rows: readonly PaymentRow[],
): Promise<ReadonlyMap<number, Shared>> {
  const networks = [...Map.groupBy(rows, (row) => row.networkId)];
  const read = networks.map(async ([networkId, own]): Promise<[number, Shared]> => {
    const tokens = new Set(own.flatMap(({ token }) => token ?? []));
    const [stated, wanted] = await Promise.all([
      readTokens(queries, networkId, [...tokens]),
      own.some(mayWait) ? readWanted(queries, networkId, [entityId]) : null,
    ]);
    return [networkId, { stated, wanted }];
  });
  return new Map(await Promise.all(read));
}

/** The numbers of the accepted events in this revision. A held event is one event at every finality. */
function eventNumbers({ hexOf }: Dialect, row: PaymentRow, events: readonly PublishedEvent[]): string[] {
  const current = events.filter(({ revision }) => revision === row.revision);
  return [...new Set(current.flatMap(({ eventNo }) => (eventNo === null ? [] : hexOf(eventNo))))];
}

function sum(totals: readonly (DeliveryTotals | undefined)[]): DeliveryTotals {
  const all = { delivered: 0, waiting: 0, failed: 0 };
  for (const total of totals) {
    all.delivered += total?.delivered ?? 0;
    all.waiting += total?.waiting ?? 0;
    all.failed += total?.failed ?? 0;
  }
  return all;
}

function toPayment(
  row: PaymentRow,
  network: NetworkLevels | null,
  stated: StatedToken | null,
): Omit<Payment, 'waitsFor' | 'deliveries'> {
  const fields = (row.fields === null ? {} : JSON.parse(row.fields)) as Record<string, unknown>;
  // The payload has an address as people see it, and the column has its stored form.
  const { show } = rulesOf(row.networkId).addresses;
  const written = (name: 'payer' | 'payee' | 'token') => {
    const stored = row[name];
    if (stored === null) return null;
    return partyOf(fields[name]) === stored ? String(fields[name]) : show(stored);
  };
  const { networkId, state, revision, transactionHash, blockNumber, blockHash, logIndex } = row;
  return {
    paymentId: paymentIdOf(row.factId),
    networkId,
    network: caip2(networkId),
    origin: row.eventNo === null ? 'chain' : 'sender',
    state: isSafe(row, network) ? 'safe' : state,
    isDisputed: row.isDisputed === 1,
    revision,
    confirmations: confirmationsOf(row, network),
    amount: row.amount === null ? textOf(fields.amount) : amountOfKey(row.amount),
    amountBase: textOf(fields.amountBase),
    token: tokenOf(row, written('token'), stated),
    payer: written('payer'),
    payee: written('payee'),
    transactionHash,
    blockNumber,
    blockHash,
    logIndex,
    dateBlock: row.blockS,
    agreementId: row.agreementId,
    transferId: row.transferId,
    invoiceId: row.invoiceId,
    sourceId: row.sourceId,
    isHistory: row.isSilent === 1 && row.isDust === 0,
    isDust: row.isDust === 1,
    dateCreated: row.dateCreated,
    dateChanged: row.dateChanged,
  };
}

/** Only the symbol of a listed token is verified. */
function tokenOf(
  { networkId, token }: PaymentRow,
  address: string | null,
  stated: StatedToken | null,
): Payment['token'] {
  const listed = token === null ? null : listedSymbol(networkId, token);
  return {
    address,
    symbol: listed ?? stated?.symbol ?? null,
    decimals: stated?.decimals ?? null,
    isListed: listed !== null,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

type Place = Pick<PaymentRow, 'state' | 'blockNumber' | 'isDisputed'>;

function isSafe({ state, blockNumber, isDisputed }: Place, network: NetworkLevels | null): boolean {
  const safe = network?.safeBlock ?? null;
  return state === 'seen' && isDisputed === 0 && blockNumber !== null && safe !== null && blockNumber <= safe;
}

function confirmationsOf({ state, blockNumber }: Place, network: NetworkLevels | null): number | null {
  if (network === null || blockNumber === null || (state !== 'seen' && state !== 'final')) return null;
  return Math.max(1, network.levels.head - blockNumber + 1);
}

/** Whether the payment may still lead to an event. Even a final payment may, because Paybell counts confirmations beyond finality. */
function mayWait({ state, isSilent }: Pick<PaymentRow, 'state' | 'isSilent'>): boolean {
  return isSilent === 0 && state !== 'retracted';
}

/**
 * Whether a payment has the finality in its present block. A payment without a block, or about which nodes disagree, has no
 * finality. Below finality, a payment is final only once enough nodes have shown it.
 */
export function hasFinality(
  { state, blockNumber, isDisputed }: Place,
  finality: string,
  network: NetworkLevels | null,
): boolean {
  if (network === null || blockNumber === null || isDisputed === 1) return false;
  if (state !== 'final' && (state !== 'seen' || finality === 'final')) return false;
  const reached = reachedBlock(finalityOf(finality), network.levels);
  return reached !== null && blockNumber <= reached;
}

/** A held event that waits for its block gets the finalities that webhooks have when the block comes. */
export function registryOf({ state, seenRevision }: Pick<PaymentRow, 'state' | 'seenRevision'>): RegistryMoment {
  return state === 'waiting' ? 'now' : seenRevision;
}

type Wait = {
  readonly entityId: string;
  readonly wanted: Wanted;
  readonly network: NetworkLevels | null;
  readonly nowMs: number;
};

function waitsFor(
  row: PaymentRow,
  events: readonly PublishedEvent[],
  { entityId, wanted, network, nowMs }: Wait,
): Payment['waitsFor'] {
  const made = new Set(
    events.flatMap((each) => (each.revision === row.revision ? `${each.event} ${each.finality}` : [])),
  );
  const open: { finality: string; webhooks: number }[] = [];
  for (const event of kindsOf(row.kind)) {
    const { ruleAmount } = row;
    for (const [finality, webhooks] of wanted.webhooksOf({ entityId, event, moment: registryOf(row), ruleAmount })) {
      if (made.has(`${event} ${finality}`) || hasFinality(row, finality, network)) continue;
      open.push({ finality, webhooks });
    }
  }
  const [next] = open.toSorted((a, b) => rankOf(a.finality) - rankOf(b.finality));
  if (next === undefined) return null;
  return {
    finality: next.finality,
    dateExpected: dateExpected(row, next.finality, network, nowMs),
    webhooks: open.reduce((total, { webhooks }) => total + webhooks, 0),
  };
}

/** The order in which networks usually reach finalities. */
function rankOf(finality: string): number {
  const level = finalityOf(finality);
  if (typeof level === 'number') return level;
  return level === 'seen' ? 0 : level === 'safe' ? AFTER_CONFIRMATIONS : AFTER_CONFIRMATIONS + 1;
}

const AFTER_CONFIRMATIONS = 1_000_000;

/**
 * The time at which the payment is expected to have the finality, by the block time or the usual time to finality. Null while the
 * network is halted or stalled.
 */
function dateExpected(row: PaymentRow, finality: string, network: NetworkLevels | null, nowMs: number): number | null {
  const level = finalityOf(finality);
  const confirmations = confirmationsOf(row, network);
  if (network === null || !network.isMoving || confirmations === null || row.isDisputed === 1) return null;
  const { blockTimeMs, finalLagMs } = network;
  if (typeof level === 'number') {
    return blockTimeMs === null ? null : Math.ceil((nowMs + (level - confirmations) * blockTimeMs) / 1000);
  }
  if (level !== 'final' || finalLagMs === null || row.blockS === null) return null;
  // A payment that takes longer than usual may be final at any moment.
  return Math.ceil(Math.max(nowMs, row.blockS * 1000 + finalLagMs) / 1000);
}
