import type { FieldsOf } from '../../contract/event-payloads.ts';
import { isSolana, type SampleOf, sampleOf } from '../../contract/event-samples.ts';
import type { EventKind } from '../../domain/event-kinds.ts';
import { makeId } from '../../domain/ids.ts';

/** Time and randomness are given, so that the same scenario can be written twice. */
export type ScenarioTerms = {
  readonly networkId: number;
  /** The price of each period, as decimal text. */
  readonly amount: string;
  readonly startS: number;
  readonly random: (count: number) => Uint8Array;
};

export type ScenarioEvent = SampleOf<EventKind>;
type Transfer = { readonly transferId: string; readonly dueS: number };

const DAY_S = 24 * 3_600;
const INTERVAL_DAYS = 30;
/** The first payment is due this long after the signature. */
const FIRST_DUE_S = 60;
const CREATED_BEFORE_S = 30;
const PROCESSED_AFTER_S = 20;
/** About as long as Ethereum takes to finalize a block. */
const FINAL_AFTER_S = 15 * 60;
const FINAL_CONFIRMATIONS = 64;

/** Writes the events of one agreement: each is a sample with the ids, amounts and dates of the scenario. */
export class ScenarioWriter {
  readonly events: ScenarioEvent[] = [];
  readonly #agreementId: string;

  constructor(private readonly terms: ScenarioTerms) {
    this.#agreementId = this.#newId('agr', terms.startS);
  }

  /** When the payment of a period is due; the first period is 0. */
  dueOf(period: number): number {
    return this.terms.startS + FIRST_DUE_S + period * INTERVAL_DAYS * DAY_S;
  }

  signUp(): void {
    const { startS } = this.terms;
    this.events.push(
      this.#write('AgreementSignedUp', startS, {
        intervalDays: INTERVAL_DAYS,
        dateSigned: startS,
        transactionHash: this.#newHash(),
      }),
    );
  }

  createTransfer(period: number): Transfer {
    const dueS = this.dueOf(period);
    const atS = dueS - CREATED_BEFORE_S;
    const transfer = { transferId: this.#newId('trf', atS), dueS };
    this.events.push(this.#write('TransferCreated', atS, { transferId: transfer.transferId, dateDue: dueS }));
    return transfer;
  }

  /** Puts the transfer into a transaction and returns its hash. */
  process({ transferId }: Transfer, atS: number): string {
    const transactionHash = this.#newHash();
    this.events.push(this.#write('TransferProcessed', atS, { transferId, transactionHash, confirmations: 0 }));
    return transactionHash;
  }

  /** Puts the transfer into a transaction that becomes final. */
  pay(transfer: Transfer, paidS: number): void {
    const processedS = paidS + PROCESSED_AFTER_S;
    const transactionHash = this.process(transfer, processedS);
    const { transferId } = transfer;
    const final = { transferId, transactionHash, confirmations: FINAL_CONFIRMATIONS };
    this.events.push(this.#write('TransferFinalized', processedS + FINAL_AFTER_S, final));
  }

  reportLate({ transferId, dueS }: Transfer, daysLate: number): void {
    this.events.push(this.#write('LatePayment', dueS + daysLate * DAY_S, { transferId, dateDue: dueS, daysLate }));
  }

  scheduleCancel(atS: number, endsS: number): void {
    const fields = { intervalDays: INTERVAL_DAYS, dateScheduled: atS, dateEnds: endsS };
    this.events.push(this.#write('ScheduledAgreementCancel', atS, fields));
  }

  cancel(atS: number, cancelledBy: 'payer' | 'payee'): void {
    this.events.push(
      this.#write('AgreementCancelled', atS, { intervalDays: INTERVAL_DAYS, dateCancelled: atS, cancelledBy }),
    );
  }

  #write<Kind extends EventKind>(kind: Kind, atS: number, fields: Partial<FieldsOf<Kind>>): SampleOf<Kind> {
    const { networkId, amount } = this.terms;
    const sample = sampleOf(kind, networkId, this.#newId('evt', atS), atS);
    return { ...sample, agreementId: this.#agreementId, amount, ...fields };
  }

  #newId(prefix: 'agr' | 'trf' | 'evt', atS: number): string {
    return makeId(prefix, atS * 1000, this.terms.random(10));
  }

  /** Hex on Ethereum and compatible networks, base58 on Solana. */
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
