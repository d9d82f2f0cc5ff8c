import { factId } from '../../../domain/chain/fact-id.ts';
import { type FoundFact, TRANSFER } from '../../../domain/chain/facts.ts';
import { compareDecimals, type Decimal, parseDecimal } from '../../../domain/payload-filter/decimal.ts';
import type { BookEntry } from '../../../store/chain/addresses/books.ts';
import type { LogAddresses } from './definition/addresses.ts';
import { fillFields, type Payload } from './payload-fields.ts';
import type { Match } from './source-index.ts';

/** The fact that a match proves. */
export function toFact(
  { source: { followed, compiled, entry }, log, values, n, kind, expected }: Match,
  decimals: ReadonlyMap<string, number>,
  addresses: LogAddresses,
): FoundFact {
  const { networkId, entityId, sourceId, createdHead, deliverHistory, revision } = followed;
  const payload = withEntry(fillFields(compiled, values, decimals, addresses, log.data.length), entry);
  const { blockNumber, blockHash, logIndex, blockS, transactionHash, address, topics, data } = log;
  const isHistory = blockNumber <= createdHead && !deliverHistory;
  const isDust =
    isBelow(payload.fields.amount, compiled.minAmount) || (kind === TRANSFER && movesNothing(payload.fields));
  return {
    entityId,
    factId: factId({ networkId, transactionHash, contract: address, topics, data, n }),
    networkId,
    sourceId,
    kind: kind ?? '',
    ...(revision === undefined ? {} : { sourceRevision: revision }),
    isSilent: isHistory || isDust,
    ...(isDust && { isDust }),
    transactionHash,
    contract: addresses.show(address),
    position: { blockNumber, blockHash, logIndex, ...(blockS !== undefined && { blockS }) },
    ...(entry !== undefined && { bookAddress: entry.address }),
    ...(expected !== undefined && { expected }),
    ...payload,
  };
}

/** Adds the agreement and the reference of the address book. Its agreement replaces the agreement of the log. */
function withEntry(payload: Payload, entry: BookEntry | undefined): Payload {
  if (entry === undefined) return payload;
  const { agreementId, reference } = entry;
  const fields = {
    ...payload.fields,
    ...(agreementId === null ? {} : { agreementId }),
    ...(reference === null ? {} : { reference }),
  };
  return { ...payload, fields, agreementId: agreementId ?? payload.agreementId };
}

/** Whether the amount is zero. Anyone can write such a log about any address, so Paybell publishes no event for it. */
function movesNothing({ amount, amountBase }: Readonly<Record<string, unknown>>): boolean {
  const stated = amountBase ?? amount;
  return typeof stated === 'string' && !BEGINS_ABOVE_ZERO.test(stated) && parseDecimal(stated)?.sign === 0;
}

const BEGINS_ABOVE_ZERO = /^[1-9]/;

/**
 * Whether the amount is below the minimum. An amount of a token without decimals cannot be compared, so it never is.
 */
function isBelow(amount: unknown, least: Decimal | null): boolean {
  const decimal = least === null || typeof amount !== 'string' ? null : parseDecimal(amount);
  return decimal !== null && least !== null && compareDecimals(decimal, least) < 0;
}

/**
 * One fact of each log for each entity. If there are two, the source of the first one waits for its history. Someone
 * may delete, pause or change that source before the backfill publishes the payment, so the second fact counts, unless
 * it is silent.
 */
export function oneOfEach(facts: readonly FoundFact[]): FoundFact[] {
  const byKey = new Map<string, FoundFact>();
  for (const fact of facts) {
    const key = `${fact.entityId} ${fact.factId} ${fact.position.blockHash}`;
    const waiting = byKey.get(key);
    const expected = waiting?.expected ?? fact.expected;
    const chosen = waiting === undefined || !fact.isSilent ? fact : waiting;
    byKey.set(key, expected === undefined ? chosen : { ...chosen, expected });
  }
  return [...byKey.values()];
}
