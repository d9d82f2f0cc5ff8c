import { type CanonicalPayment, Ledger, type ReceivedEvent } from '../../../demo/chain/ledger.ts';
import type { ReceivedRequest } from '../../../test/support/ledger.ts';

/** What the receivers were told of the payments of some networks, each request once however often it was sent. */

type Payload = {
  readonly eventId: string;
  readonly event: string;
  readonly networkId: number;
  readonly transactionHash: string;
  readonly revision: number;
  readonly blockNumber?: number;
  readonly blockHash?: string;
  readonly amountBase?: string;
  readonly retracts?: { readonly eventId: string };
};

export class Told {
  /** By the path of the receiver. */
  readonly ledgers: ReadonlyMap<string, Ledger>;
  /** Requests of a delivery after its first. */
  repeated = 0;
  readonly #deliveries = new Map<string, string>();
  readonly #violations: string[] = [];
  #read = 0;

  constructor(
    private readonly requests: readonly ReceivedRequest[],
    paths: readonly string[],
  ) {
    this.ledgers = new Map(paths.map((path) => [path, new Ledger()]));
  }

  /** Reads what has arrived since the last time. */
  read(): void {
    for (; this.#read < this.requests.length; this.#read++) {
      const request = this.requests[this.#read];
      if (request !== undefined) this.#add(request);
    }
  }

  #add({ path, deliveryId, eventId, body }: ReceivedRequest): void {
    const ledger = this.ledgers.get(path);
    if (ledger === undefined) return;
    const text = Buffer.from(body).toString();
    const known = this.#deliveries.get(deliveryId);
    if (known !== undefined) {
      this.repeated++;
      if (known !== text) this.#violations.push(`${deliveryId} arrived with other bytes than before`);
      return;
    }
    this.#deliveries.set(deliveryId, text);
    const payload = JSON.parse(text) as Payload;
    if (payload.eventId !== eventId) this.#violations.push(`${eventId} arrived as ${payload.eventId}`);
    ledger.add(toReceived(payload));
  }

  /** Whether each receiver was told of the payment. */
  hasHeard(networkId: number, transactionHash: string): boolean {
    return [...this.ledgers.values()].every((ledger) => ledger.of(keyOf(networkId, transactionHash)).length > 0);
  }

  /** Whether any receiver was told of the payment. */
  isHeardOf(networkId: number, transactionHash: string): boolean {
    return [...this.ledgers.values()].some((ledger) => ledger.of(keyOf(networkId, transactionHash)).length > 0);
  }

  /** By payment, each way in which a receiver was told something else than what is in the chain. */
  errors(canonical: ReadonlyMap<string, CanonicalPayment>): string[] {
    this.read();
    const wrong = [...this.ledgers].flatMap(([path, ledger]) =>
      ledger.errors(canonical).map((error) => `${path}: ${error}`),
    );
    return [...this.#violations, ...wrong];
  }
}

export function keyOf(networkId: number, transactionHash: string): string {
  return `${networkId}-${transactionHash}`;
}

function toReceived(payload: Payload): ReceivedEvent {
  const { eventId, event, networkId, transactionHash, revision } = payload;
  const { blockNumber = null, blockHash = null, amountBase = null, retracts } = payload;
  return {
    ...{ eventId, event, revision, blockNumber, blockHash, amountBase },
    // Two networks may have a transaction of the same hash.
    transactionHash: keyOf(networkId, transactionHash),
    retracts: retracts?.eventId ?? null,
  };
}
