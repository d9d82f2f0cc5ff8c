import type { FieldsOf, Payloads } from '../../contract/event-payloads.ts';
import { isSolana, sampleEvent } from '../../contract/event-samples.ts';
import type { EventKind } from '../../domain/event-kinds.ts';
import { makeId } from '../../domain/ids.ts';

/** Time and randomness come in, so that the same story can be told twice. */
export type ScenarioTerms = {
  readonly networkId: number;
  /** What each period costs, as a decimal text. */
  readonly amount: string;
  readonly startS: number;
  readonly random: (count: number) => Uint8Array;
};

export type ScenarioEvent = Payloads[EventKind] & { eventId: string };
type Transfer = { readonly transferId: string; readonly dueS: number };

const DAY_S = 24 * 3_600;
const INTERVAL_DAYS = 30;
/** The first payment is due this long after the signature. */
const FIRST_DUE_S = 60;
const CREATED_BEFORE_S = 30;
const PROCESSED_AFTER_S = 20;
/** About as long as Ethereum takes to make a block final. */
const FINAL_AFTER_S = 15 * 60;
const FINAL_CONFIRMATIONS = 64;

/** Tells what happens to one agreement: each event a sample with the ids, amounts and dates of this story. */
export class ScenarioWriter {
  readonly events: ScenarioEvent[] = [];
  readonly #agreementId: string;

  constructor(private readonly terms: ScenarioTerms) {
    this.#agreementId = this.#newId('agr', terms.startS);
  }

  /** When the payment of a period is due, the first being period 0. */
  dueOf(period: number): number {
    return this.terms.startS + FIRST_DUE_S + period * INTERVAL_DAYS * DAY_S;
  }

  signUp(): void {
    const { startS } = this.terms;
    this.#tell('AgreementSignedUp', startS, {
      intervalDays: INTERVAL_DAYS,
      dateSigned: startS,
      transactionHash: this.#newHash(),
    });
  }

  createTransfer(period: number): Transfer {
    const dueS = this.dueOf(period);
    const atS = dueS - CREATED_BEFORE_S;
    const transfer = { transferId: this.#newId('trf', atS), dueS };
    this.#tell('TransferCreated', atS, { transferId: transfer.transferId, dateDue: dueS });
    return transfer;
  }

  /** Puts it into a transaction; answers which. */
  process({ transferId }: Transfer, atS: number): string {
    const transactionHash = this.#newHash();
    this.#tell('TransferProcessed', atS, { transferId, transactionHash, confirmations: 0 });
    return transactionHash;
  }

  /** Into a transaction that the network then makes final. */
  settle(transfer: Transfer, paidS: number): void {
    const processedS = paidS + PROCESSED_AFTER_S;
    const transactionHash = this.process(transfer, processedS);
    const { transferId } = transfer;
    const final = { transferId, transactionHash, confirmations: FINAL_CONFIRMATIONS };
    this.#tell('TransferFinalized', processedS + FINAL_AFTER_S, final);
  }

  reportLate({ transferId, dueS }: Transfer, daysLate: number): void {
    this.#tell('LatePayment', dueS + daysLate * DAY_S, { transferId, dateDue: dueS, daysLate });
  }

  scheduleCancel(atS: number, endsS: number): void {
    const facts = { intervalDays: INTERVAL_DAYS, dateScheduled: atS, dateEnds: endsS };
    this.#tell('ScheduledAgreementCancel', atS, facts);
  }

  cancel(atS: number, cancelledBy: 'payer' | 'payee'): void {
    this.#tell('AgreementCancelled', atS, { intervalDays: INTERVAL_DAYS, dateCancelled: atS, cancelledBy });
  }

  #tell<Kind extends EventKind>(kind: Kind, atS: number, facts: Partial<FieldsOf<Kind>>): void {
    const { networkId, amount } = this.terms;
    const sample = sampleEvent(kind, networkId, this.#newId('evt', atS), atS);
    const told = { ...sample, agreementId: this.#agreementId, amount, ...facts };
    this.events.push(told as unknown as ScenarioEvent);
  }

  #newId(prefix: 'agr' | 'trf' | 'evt', atS: number): string {
    return makeId(prefix, atS * 1000, this.terms.random(10));
  }

  /** As the network writes one: hex on Ethereum and its kin, base58 on Solana. */
  #newHash(): string {
    if (!isSolana(this.terms.networkId)) return `0x${this.terms.random(32).toHex()}`;
    return base58(this.terms.random(64));
  }
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58(bytes: Uint8Array): string {
  let rest = BigInt(`0x${bytes.toHex()}`);
  let text = '';
  for (; rest > 0n; rest /= 58n) text = BASE58.charAt(Number(rest % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}
