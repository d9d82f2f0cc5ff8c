import { paymentColumns } from '../../domain/chain/payments.ts';
import type { Dialect, Queries } from '../database/database.ts';
import type { Incoming } from '../events/plan-acceptance.ts';
import { factTable, historyTable } from './tables.ts';

/** Events that are held for a transaction: each is a fact of its own, which no log tells of. */

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
  'askedAtMs',
  'createdAtMs',
  'changedAtMs',
]);
const NEW_HISTORY = historyTable.insertion(['entityId', 'factId', 'no', 'atMs', 'state', 'revision']);

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

/** In the transaction that accepts the event. The follower of the network looks for the transaction from the commit on. */
export async function holdEvent(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo }: Incoming,
  transactionHash: string,
  nowMs: number,
): Promise<void> {
  const { entityId, networkId, event: kind, agreementId = null, transferId = null } = event;
  const factId = heldFactId(networkId, transactionHash, eventNo);
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
    ...paymentColumns(kind, parseFields(event.body)),
  };
  const state = { state: 'waiting', revision: 1 } as const;
  await queries.run(
    NEW_FACT.text(1),
    NEW_FACT.parameters([
      {
        ...fact,
        ...state,
        eventNo: dialect.bindUuid(eventNo),
        askedAtMs: nowMs,
        createdAtMs: nowMs,
        changedAtMs: nowMs,
      },
    ]),
  );
  await queries.run(NEW_HISTORY.text(1), NEW_HISTORY.parameters([{ entityId, factId, ...state, no: 1, atMs: nowMs }]));
}
