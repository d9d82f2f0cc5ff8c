import type { Reconciliation } from '../../contract/events/reconciliation.ts';
import { rulesOf } from '../../domain/chain/families/families.ts';
import { amountOfKey } from '../../domain/chain/payments.ts';
import { DomainError } from '../../domain/errors.ts';
import { compareLines } from '../../domain/reconciliation/book.ts';
import { DecimalSum } from '../../domain/reconciliation/decimal-sum.ts';
import { type Database, longReadsOf, type Queries } from '../database/database.ts';
import { Parameters, readInteger } from '../database/sql.ts';
import { readEndpointWebhooks } from './endpoint-webhooks.ts';
import { type PaymentRow, paymentColumns, readStandings, type Standing } from './payment-standings.ts';
import type { ProgressScope } from './progress.ts';

/**
 * The payments of a day by token: on the chain, and at their receivers. In every sum, a payment belongs to the day of its block,
 * even if it is delivered or retracted on a later day. Only payments that Paybell read from a network count, because no log
 * proves the amount of a held event.
 */

export type PaymentScope = ProgressScope & {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly networkId: number | undefined;
};

const PAYMENTS_PER_STEP = 200;
/** Limit on the payments of a day, which are read in a thousand steps. */
const MAX_PAYMENTS = 200_000;
const MAX_TOKENS = 1_000;

type TokenSums = Reconciliation['tokens'][number];

export async function sumTokens(
  db: Database,
  scope: PaymentScope,
): Promise<Pick<Reconciliation, 'tokens' | 'undatedPayments'>> {
  const sums = new Map<string, Sums>();
  let payments = 0;
  for await (const step of stepsOf(db, scope)) {
    payments += step.length;
    if (payments > MAX_PAYMENTS) throw new DomainError('day_too_large', { what: 'payments', limit: MAX_PAYMENTS });
    for (const { row, standing } of step) sumsOf(sums, row).add(row, standing);
    if (sums.size > MAX_TOKENS) throw new DomainError('day_too_large', { what: 'tokens', limit: MAX_TOKENS });
  }
  const keys = [...sums.keys()].sort(compareLines);
  return {
    tokens: keys.flatMap((key) => sums.get(key)?.show() ?? []),
    undatedPayments: await countUndated(db, scope),
  };
}

/** Held events have no log, and dust is less than the least amount of its source. */
const IS_COUNTED = 'is_payment = 1 and is_dust = 0 and event_no is null';

/** Counts payments without a date: the node stated none for the log, and the header of the block was not read. */
function countUndated(db: Database, { entityId, sinceMs, untilMs, networkId }: PaymentScope): Promise<number> {
  const parameters = new Parameters(entityId, sinceMs, untilMs);
  const ofNetwork = networkId === undefined ? '' : `and network_id = ${parameters.bind(networkId)}`;
  return readInteger(
    longReadsOf(db, entityId),
    'count(*)',
    `from facts where entity_id = $1 and created_at_ms >= $2 and created_at_ms < $3 and ${IS_COUNTED}
       and block_s is null ${ofNetwork}`,
    parameters.values,
  );
}

type Counted = { readonly row: PaymentRow; readonly standing: Standing };

async function* stepsOf(db: Database, scope: PaymentScope): AsyncGenerator<Counted[]> {
  const { entityId, endpointNo } = scope;
  let after: PaymentRow | null = null;
  for (;;) {
    const last: PaymentRow | null = after;
    const step: Counted[] = await longReadsOf(db, entityId).snapshot(async (queries) => {
      const rows = await readPayments(queries, scope, last);
      if (rows.length === 0) return [];
      const webhooks =
        endpointNo === undefined ? undefined : await readEndpointWebhooks(queries, db, entityId, endpointNo);
      const standings = await readStandings(queries, db, scope, rows, webhooks);
      return rows.map((row, index) => ({ row, standing: standings[index] ?? UNKNOWN }));
    });
    if (step.length > 0) yield step;
    after = step.at(-1)?.row ?? null;
    if (after === null || step.length < PAYMENTS_PER_STEP) return;
  }
}

const UNKNOWN: Standing = {
  ...{ isOnChain: false, isSent: false, isAcknowledged: false },
  ...{ isRetracted: false, isMissing: false, isRetractionOpen: false },
};

function readPayments(
  queries: Queries,
  { entityId, sinceMs, untilMs, networkId }: PaymentScope,
  after: PaymentRow | null,
): Promise<PaymentRow[]> {
  const parameters = new Parameters(entityId);
  const where = ['entity_id = $1', IS_COUNTED, `block_s < ${parameters.bind(untilMs / 1000)}`];
  if (after === null) where.push(`block_s >= ${parameters.bind(sinceMs / 1000)}`);
  else where.push(`(block_s, id) > (${parameters.bind(after.blockS)}, ${parameters.bind(after.factId)})`);
  if (networkId !== undefined) where.push(`network_id = ${parameters.bind(networkId)}`);
  return paymentColumns.all(
    queries,
    `select ${paymentColumns.list} from facts where ${where.join(' and ')} order by block_s, id limit ${PAYMENTS_PER_STEP}`,
    parameters.values,
  );
}

/** The sums of one token. */
class Sums {
  readonly #counts = { payments: 0, withoutAmount: 0 };
  readonly #onChain = new DecimalSum();
  readonly #sent = new DecimalSum();
  readonly #acknowledged = new DecimalSum();
  readonly #retracted = new DecimalSum();
  readonly #net = new DecimalSum();
  readonly #missing = new DecimalSum();
  readonly #openRetractions = new DecimalSum();

  constructor(private readonly of: Pick<TokenSums, 'networkId' | 'token'>) {}

  add(row: PaymentRow, standing: Standing): void {
    if (standing.isOnChain) this.#counts.payments++;
    if (row.amount === null) {
      this.#counts.withoutAmount++;
      return;
    }
    const amount = amountOfKey(row.amount);
    if (standing.isOnChain) this.#onChain.add(amount);
    if (standing.isSent) this.#sent.add(amount);
    if (standing.isAcknowledged) this.#acknowledged.add(amount);
    if (standing.isRetracted) this.#retracted.add(amount);
    if (standing.isSent && !standing.isRetracted) this.#net.add(amount);
    if (standing.isMissing) this.#missing.add(amount);
    if (standing.isRetractionOpen) this.#openRetractions.add(amount);
  }

  show(): TokenSums {
    const amounts = {
      onChain: this.#onChain,
      sent: this.#sent,
      acknowledged: this.#acknowledged,
      retracted: this.#retracted,
      net: this.#net,
      missing: this.#missing,
      unacknowledgedRetractions: this.#openRetractions,
    };
    const shown = Object.fromEntries(Object.entries(amounts).map(([name, sum]) => [name, sum.toString()]));
    const { networkId, token } = this.of;
    const of = { networkId, token: token && rulesOf(networkId).addresses.show(token) };
    return { ...of, ...this.#counts, ...(shown as { [Name in keyof typeof amounts]: string }) };
  }
}

function sumsOf(sums: Map<string, Sums>, { networkId, token }: PaymentRow): Sums {
  const key = [String(networkId).padStart(16, '0'), token ?? ''].join('\t');
  const known = sums.get(key) ?? new Sums({ networkId, token });
  sums.set(key, known);
  return known;
}
