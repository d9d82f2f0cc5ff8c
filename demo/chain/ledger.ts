/** What a receiver knows of each payment from the requests that it accepted, and what the network says of it at last. */

export type ReceivedEvent = {
  readonly eventId: string;
  readonly event: string;
  readonly transactionHash: string;
  readonly revision: number;
  readonly blockNumber: number | null;
  readonly blockHash: string | null;
  readonly amountBase: string | null;
  /** The event that a retraction takes back. */
  readonly retracts: string | null;
};

/** A payment that is in the network's chain. */
export type CanonicalPayment = {
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly amountBase: string;
};
export type Chain = ReadonlyMap<string, CanonicalPayment>;

export class Ledger {
  /** In the order of arrival. */
  readonly #received = new Map<string, ReceivedEvent[]>();

  add(event: ReceivedEvent): void {
    this.#received.set(event.transactionHash, [...this.of(event.transactionHash), event]);
  }

  of(transactionHash: string): readonly ReceivedEvent[] {
    return this.#received.get(transactionHash) ?? [];
  }

  /** Events of a kind, over all payments. */
  all(kind: string): ReceivedEvent[] {
    return [...this.#received.values()].flat().filter(({ event }) => event === kind);
  }

  /** Payments that the receiver now takes for made: they were processed, and that was not taken back. */
  get believed(): Set<string> {
    const believed = [...this.#received].filter(
      ([, events]) => countOf(events, 'TransferProcessed') > countOf(events, 'EventRetracted'),
    );
    return new Set(believed.map(([transactionHash]) => transactionHash));
  }

  get finalized(): Set<string> {
    return new Set(this.all('TransferFinalized').map(({ transactionHash }) => transactionHash));
  }

  /** Payments that were finalized in another block than the one they were last processed in. */
  get moved(): number {
    return [...this.#received.values()].filter((events) => {
      const [final] = events.filter(({ event }) => event === 'TransferFinalized');
      const processed = events.findLast(({ event }) => event === 'TransferProcessed');
      return final !== undefined && processed !== undefined && final.blockHash !== processed.blockHash;
    }).length;
  }

  /** Each way in which the receiver was told something else than what is in the chain, as a sentence. */
  errors(chain: Chain): string[] {
    const hashes = new Set([...this.#received.keys(), ...chain.keys()]);
    return [...hashes].flatMap((hash) =>
      errorsOf(this.of(hash), chain.get(hash) ?? null).map((error) => `${hash}: ${error}`),
    );
  }
}

const countOf = (events: readonly ReceivedEvent[], kind: string) => events.filter(({ event }) => event === kind).length;

function errorsOf(events: readonly ReceivedEvent[], canonical: CanonicalPayment | null): string[] {
  const [processed, retracted] = [countOf(events, 'TransferProcessed'), countOf(events, 'EventRetracted')];
  const finals = events.filter(({ event }) => event === 'TransferFinalized');
  const expected = canonical === null ? 0 : 1;
  const errors = retractionErrors(events);
  if (processed - retracted !== expected)
    errors.push(`processed ${processed} times and retracted ${retracted} times, with ${expected} in the chain`);
  if (finals.length !== expected) errors.push(`finalized ${finals.length} times, with ${expected} in the chain`);
  if (canonical === null) return errors;
  for (const { blockNumber, blockHash } of finals) {
    if (blockNumber !== canonical.blockNumber || blockHash !== canonical.blockHash)
      errors.push(`finalized in block ${blockNumber}, and it is in ${canonical.blockNumber}`);
  }
  for (const { event, amountBase } of events) {
    if (event !== 'EventRetracted' && amountBase !== canonical.amountBase)
      errors.push(`${event} of ${amountBase}, and it is ${canonical.amountBase}`);
  }
  return errors;
}

/** A retraction comes after what it takes back, and nothing is taken back twice. */
function retractionErrors(events: readonly ReceivedEvent[]): string[] {
  const standing = new Map<string, ReceivedEvent>();
  const errors: string[] = [];
  for (const event of events) {
    if (event.event === 'TransferProcessed') standing.set(event.eventId, event);
    if (event.event !== 'EventRetracted') continue;
    const original = standing.get(event.retracts ?? '');
    standing.delete(event.retracts ?? '');
    if (original === undefined) errors.push(`a retraction of ${event.retracts}, which does not stand`);
    else if (original.revision !== event.revision) errors.push(`a retraction of another revision`);
  }
  return errors;
}
