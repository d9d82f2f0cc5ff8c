import type { PaymentListQuery } from '../../../contract/chain/payments.ts';
import { storedTransactionId } from '../../../domain/chain/families/families.ts';
import { type PaymentSearch, readPaymentSearch } from '../../../domain/chain/payment-search.ts';
import { amountKey, partyOf } from '../../../domain/chain/payments.ts';
import { eventNumber } from '../../../domain/ids.ts';
import { parseDecimal } from '../../../domain/payload-filter/decimal.ts';
import type { Dialect, Queries, SqlInteger } from '../../database/database.ts';
import { Parameters } from '../../database/sql.ts';
import { findFactOfEvent } from '../event-facts.ts';
import { factTable, IS_NOT_FINAL } from '../tables.ts';
import type { NetworkLevels } from './levels.ts';

/** The payments that a query asks for, as conditions on `facts`. */
export type Matches = {
  readonly parameters: Parameters;
  /** Conditions of which every match has exactly one, so that an index serves each. */
  readonly alternatives: readonly string[];
  /** Whether an index leads to few rows. Sorting these costs less than walking all payments by date. */
  readonly isNarrow: boolean;
};

/** The partial indexes of payments serve only statements with this text. */
const IS_PAYMENT = 'is_payment = 1';
const IS_OF_INVOICE = 'invoice_id is not null';

/** Whether the levels of the networks decide which payments have the state. */
export function isStateComputed({ state }: Pick<PaymentListQuery, 'state'>): boolean {
  return state === 'seen' || state === 'safe';
}

/** Null if nothing can match. The levels of the networks are used only if `isStateComputed`. */
export async function findMatches(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  query: PaymentListQuery,
  levels: ReadonlyMap<number, NetworkLevels>,
): Promise<Matches | null> {
  const parameters = new Parameters();
  const { transferId, agreementId, invoiceId, since, until } = query;
  const where = factTable.where(parameters, {
    entityId,
    transactionHash: query.transactionHash && (storedTransactionId(query.transactionHash) ?? query.transactionHash),
    transferId,
    agreementId,
    invoiceId,
    createdAtMs: { from: toMs(since), before: toMs(until) },
  });
  const common = [where, IS_PAYMENT];
  if (invoiceId !== undefined) common.push(IS_OF_INVOICE);
  if (!addParties(common, parameters, query) || !addAmounts(common, parameters, query)) return null;
  if (!addState(common, parameters, query, levels)) return null;
  const search = query.q === undefined ? null : readPaymentSearch(query.q);
  const found = search === null ? [] : await searchConditions(queries, dialect, entityId, search, parameters);
  if (found === null) return null;
  const address = query.address === undefined ? [] : ofAddress(partyOf(query.address), parameters);
  if (address === null) return null;
  const isNarrow =
    [query.transactionHash, transferId, agreementId, invoiceId].some((given) => given !== undefined) ||
    (search !== null && search.by !== 'address' && search.by !== 'amount');
  const isOfNetworks = !isNarrow && search?.by !== 'amount' && isReadByNetwork(query);
  const networks = isOfNetworks ? await ofNetworks(queries, entityId, query, parameters) : [];
  if (isOfNetworks && networks.length === 0) return null;
  if (!isOfNetworks && query.networkId !== undefined) {
    common.push(`${ONE_BY_ONE} = ${parameters.bind(query.networkId)}`);
  }
  // If there are two pairs of conditions, an index can serve only one pair as two ordered lists.
  const [pair, others] = address.length > 0 ? [address, found] : [found, []];
  if (others.length > 0) common.push(`(${others.join(' or ')})`);
  const rest = common.join(' and ');
  const conditions = [pair, networks].filter((group) => group.length > 0).reduce(eachWithEach, [rest]);
  return { parameters, alternatives: conditions, isNarrow };
}

function eachWithEach(all: readonly string[], group: readonly string[]): readonly string[] {
  return all.flatMap((one) => group.map((other) => `${one} and ${other}`));
}

/**
 * Whether the payments are read by network, in the order of their dates. This is so for all payments and for the payments of an
 * account. For a state, an amount or a token, another index leads to fewer payments.
 */
function isReadByNetwork(query: PaymentListQuery): boolean {
  const { payer, payee, address, q, token, amount, minAmount, maxAmount, state } = query;
  if (amount !== undefined || (state !== undefined && state !== 'final')) return false;
  const hasRange = minAmount !== undefined || maxAmount !== undefined;
  const hasAccount = [payer, payee, address, q].some((given) => given !== undefined);
  return token === undefined || (hasAccount && !hasRange);
}

/** The network, as an expression that no index has. The engine then chooses another index, which leads to fewer payments. */
const ONE_BY_ONE = 'coalesce(network_id, 0)';

/** Finds the networks with payments, with one step along the index for each. */
const NETWORKS = `with recursive found (network_id) as (
    select min(network_id) from facts where entity_id = $1 and ${IS_PAYMENT}
    union all
    select (select min(network_id) from facts where entity_id = $1 and ${IS_PAYMENT} and network_id > found.network_id)
    from found where found.network_id is not null
  )
  select network_id from found where network_id is not null`;

/**
 * The conditions for each network. Its index has the payments in the order of their dates, so that a network with few
 * payments reads no others.
 */
async function ofNetworks(
  queries: Queries,
  entityId: string,
  { networkId }: PaymentListQuery,
  parameters: Parameters,
): Promise<string[]> {
  if (networkId !== undefined) return [`network_id = ${parameters.bind(networkId)}`];
  const rows = await queries.all<{ network_id: SqlInteger }>(NETWORKS, [entityId]);
  return rows.map(({ network_id }) => `network_id = ${parameters.bind(Number(network_id))}`);
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Returns false if nothing can match. */
function addParties(common: string[], parameters: Parameters, query: PaymentListQuery): boolean {
  for (const column of ['payer', 'payee', 'token'] as const) {
    const given = query[column];
    if (given === undefined) continue;
    const party = partyOf(given);
    if (party === null) return false;
    common.push(`${column} = ${parameters.bind(party)}`);
  }
  return true;
}

/** Returns false if nothing can match. An amount that no token can have is above all stored amounts. */
function addAmounts(common: string[], parameters: Parameters, query: PaymentListQuery): boolean {
  const bounds = [
    ['=', query.amount],
    ['>=', query.minAmount],
    ['<=', query.maxAmount],
  ] as const;
  for (const [operator, given] of bounds) {
    const decimal = given === undefined ? null : parseDecimal(given);
    if (decimal === null) continue;
    const key = amountKey(decimal);
    // A range needs a token, and the token's index has the order of dates. `|| ''` keeps the engine from the index of amounts,
    // for which it would have to sort all payments of a wide range.
    const column = operator === '=' ? 'amount' : `(amount || '')`;
    if (key !== null) common.push(`${column} ${operator} ${parameters.bind(key)}`);
    else if (operator !== '<=') return false;
  }
  return true;
}

/** A payment is `safe` if it is stored as `seen`, in a block that its network calls safe, and nodes agree about it. */
function addState(
  common: string[],
  parameters: Parameters,
  { state, networkId }: PaymentListQuery,
  networks: ReadonlyMap<number, NetworkLevels>,
): boolean {
  if (state === undefined) return true;
  common.push(`state = ${parameters.bind(state === 'safe' ? 'seen' : state)}`);
  if (state !== 'final') common.push(IS_NOT_FINAL);
  if (!isStateComputed({ state })) return true;
  const safe = [...networks.values()].flatMap((network) =>
    network.safeBlock === null || (networkId !== undefined && networkId !== network.networkId)
      ? []
      : `(${ONE_BY_ONE} = ${parameters.bind(network.networkId)} and block_number <= ${parameters.bind(network.safeBlock)})`,
  );
  if (safe.length === 0) return state === 'seen';
  common.push(`${state === 'seen' ? 'not ' : ''}(is_disputed = 0 and (${safe.join(' or ')}))`);
  return true;
}

/** Null if nothing can match; otherwise one condition, or two that exclude each other. */
async function searchConditions(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  search: PaymentSearch,
  parameters: Parameters,
): Promise<string[] | null> {
  switch (search.by) {
    case 'transaction':
      return [`transaction_hash = ${parameters.bind(search.hash)}`];
    case 'address':
      return ofAddress(search.address, parameters);
    case 'payment':
      return [`id = ${parameters.bind(search.factId)}`];
    case 'invoice':
      return [`invoice_id = ${parameters.bind(search.invoiceId)} and ${IS_OF_INVOICE}`];
    case 'event':
    case 'delivery': {
      const factId = await findFactOfEvent(queries, dialect, entityId, eventNumber(search.hex));
      return factId === null ? null : [`id = ${parameters.bind(factId)}`];
    }
    case 'amount': {
      const key = amountKey(search.amount);
      return key === null ? null : [`amount = ${parameters.bind(key)}`];
    }
    case 'subject': {
      const id = parameters.bind(search.id);
      return [
        `transfer_id = ${id}`,
        `agreement_id = ${id} and agreement_id is not null and (transfer_id is null or transfer_id <> ${id})`,
      ];
    }
  }
}

/** The conditions for payments of an account. A payment to oneself matches only one of them. */
function ofAddress(party: string | null, parameters: Parameters): string[] | null {
  if (party === null) return null;
  const account = parameters.bind(party);
  return [`payee = ${account}`, `payer = ${account} and (payee is null or payee <> ${account})`];
}
