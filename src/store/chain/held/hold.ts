import { ruleAmount } from '../../../domain/chain/finality-by-amount.ts';
import { paymentColumns } from '../../../domain/chain/payments.ts';
import type { Dialect, Queries } from '../../database/database.ts';
import type { AcceptanceRun, Incoming } from '../../events/acceptance.ts';
import { historyOf } from '../facts/fact-history.ts';
import type { Step } from '../network-store.ts';
import { factTable } from '../tables.ts';

/**
 * Events that are held for a transaction. Each held event is a fact without a log. The entities take turns: a poll asks for one
 * transaction of each entity, beginning with the entity that waited longest, then for a second transaction of each. Nodes are
 * asked for an absent transaction again after 1, 2, 4, then 8 blocks, so that one entity with invented transactions neither
 * delays others nor costs many calls.
 */

const NEW_FACT = factTable.insertion([
  'entityId',
  'factId',
  'networkId',
  'state',
  'revision',
  'kind',
  'isSilent',
  'transactionHash',
  'transferId',
  'agreementId',
  'eventNo',
  'fields',
  'isPayment',
  'isDust',
  'payer',
  'payee',
  'token',
  'amount',
  'ruleAmount',
  'nextAskBlock',
  'history',
  'createdAtMs',
  'changedAtMs',
]);

function heldFactId(networkId: number, transactionHash: string, eventNo: string): string {
  return `fct_${Bun.SHA256.hash(`held ${networkId} ${transactionHash} ${eventNo}`, 'hex').slice(0, 26)}`;
}

/** The fields that the sender stated. No log proves them. */
function parseFields(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/**
 * Holds events, in the transaction that accepts them. The followers of the networks look for their transactions from the
 * commit on.
 */
export async function holdEvents({ queries, dialect, order, group }: AcceptanceRun): Promise<void> {
  for (const one of order.accepted) {
    const { heldFor = null } = one.event;
    if (heldFor !== null) await holdEvent(queries, dialect, one, heldFor, group.nowMs);
  }
}

async function holdEvent(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo }: Incoming,
  transactionHash: string,
  nowMs: number,
): Promise<void> {
  const { entityId, networkId, event: kind, agreementId = null, transferId = null } = event;
  const factId = heldFactId(networkId, transactionHash, eventNo);
  const payment = paymentColumns(kind, parseFields(event.body));
  const fact = {
    entityId,
    factId,
    networkId,
    kind,
    transactionHash,
    transferId,
    agreementId,
    isSilent: 0,
    fields: '{}',
    isDust: 0,
    ...payment,
    ruleAmount: ruleAmount(networkId, payment),
  };
  const state = { state: 'waiting', revision: 1 } as const;
  await queries.run(
    NEW_FACT.text(1),
    NEW_FACT.parameters([
      {
        ...fact,
        ...state,
        eventNo: dialect.bindUuid(eventNo),
        nextAskBlock: AT_ONCE,
        history: historyOf({ ...state, ...NOWHERE, atMs: nowMs, isDisputed: 0 }),
        createdAtMs: nowMs,
        changedAtMs: nowMs,
      },
    ]),
  );
}

/** The position of a transaction without a block. */
const NOWHERE = { blockNumber: null, blockHash: null, logIndex: null };

/** The wait doubles with each absence, up to 8 blocks. */
export const MOST_BLOCKS = 8;
const BLOCKS_TO_WAIT = `case ${[0, 1, 2].map((absences) => `when absences <= ${absences} then ${2 ** absences}`).join(' ')}
  else ${MOST_BLOCKS} end`;

/** Due from the first poll on. */
const AT_ONCE = 0;

/** Notes after a poll which transactions were asked for. A transaction that is in a block of another branch is not absent. */
export async function writeAsked(queries: Queries, { asked, head }: Step, nowMs: number): Promise<void> {
  for (const { entityId, factId, isAbsent } of asked) {
    const next = isAbsent
      ? `absences = absences + 1, next_ask_block = cast($4 as bigint) + ${BLOCKS_TO_WAIT}`
      : `absences = 0, next_ask_block = ${AT_ONCE}`;
    const sql = `update facts set asked_at_ms = $3, ${next} where entity_id = $1 and id = $2 and next_ask_block is not null`;
    await queries.send(sql, isAbsent ? [entityId, factId, nowMs, head] : [entityId, factId, nowMs]);
  }
}
