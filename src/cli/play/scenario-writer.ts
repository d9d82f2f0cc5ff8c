import type { FieldsOf } from '../../contract/events/payloads.ts';
import { type SampleOf, type SampleRetraction, sampleOf, sampleRetraction } from '../../contract/events/samples.ts';
import { familyOf } from '../../domain/chain/families/families.ts';
import type { EventKind } from '../../domain/event-kinds.ts';
import { makeId } from '../../domain/ids.ts';
import { toBaseUnits } from './decimals.ts';

/** The caller provides the time and the randomness, so that it can write the same scenario twice. */
export type ScenarioTerms = {
  readonly networkId: number;
  /** The price of each period, as decimal text. */
  readonly amount: string;
  readonly startS: number;
  readonly random: (count: number) => Uint8Array;
};

export type ScenarioEvent = SampleOf<EventKind> | SampleRetraction;
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
/** Longer than a transaction may be missing before the event is retracted. */
const RETRACTED_AFTER_S = 12;
const BACK_AFTER_S = 18;
const BLOCK_S = 2;
const FIRST_BLOCK = 38_000_000;

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
        transactionHash: this.#newHash(64),
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
    const transactionHash = this.#newHash(64);
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

  /** The network drops the transaction, and includes it in a later block, which becomes final. */
  payThroughReorg({ transferId }: Transfer, paidS: number): void {
    const processedS = paidS + PROCESSED_AFTER_S;
    const backS = processedS + RETRACTED_AFTER_S + BACK_AFTER_S;
    const ofTransfer = { transferId, transactionHash: this.#newHash(64) };
    const lost = this.#block(processedS);
    const found = this.#block(backS);
    const first = { ...ofTransfer, ...lost, finality: 'seen', confirmations: 1, revision: 1 } as const;
    const again = { ...ofTransfer, ...found, finality: 'seen', confirmations: 1, revision: 2 } as const;
    const confirmations = Math.floor(FINAL_AFTER_S / BLOCK_S) + 1;
    const processed = this.#write('TransferProcessed', processedS, first);
    this.events.push(
      processed,
      this.#retract(processed, processedS + RETRACTED_AFTER_S, lost),
      this.#write('TransferProcessed', backS, again),
      this.#write('TransferFinalized', backS + FINAL_AFTER_S, { ...again, finality: 'final', confirmations }),
    );
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

  #retract(
    { eventId, event, transactionHash, transferId, agreementId, amount, token }: SampleOf<'TransferProcessed'>,
    atS: number,
    { blockNumber, blockHash }: { readonly blockNumber: number; readonly blockHash: string },
  ): SampleRetraction {
    return {
      ...sampleRetraction(this.terms.networkId, this.#newId('evt', atS), eventId, atS),
      ...{ retracts: { eventId, event }, transactionHash, transferId, agreementId },
      ...{ amount, amountBase: toBaseUnits(amount), token },
      ...{ lostBlockNumber: blockNumber, lostBlockHash: blockHash, revision: 1 },
    };
  }

  /** Facts that a log at this time would prove besides the transfer. */
  #block(atS: number) {
    const { startS, networkId, amount } = this.terms;
    const { token } = sampleOf('TransferProcessed', networkId, '', atS);
    return {
      blockNumber: FIRST_BLOCK + Math.floor((atS - startS) / BLOCK_S),
      blockHash: this.#newHash(32),
      logIndex: 7,
      contract: token,
      amountBase: toBaseUnits(amount),
    };
  }

  #newId(prefix: 'agr' | 'trf' | 'evt', atS: number): string {
    return makeId(prefix, atS * 1000, this.terms.random(10));
  }

  /** Hex on Ethereum and compatible networks, base58 on Solana. */
  #newHash(solanaBytes: 32 | 64): string {
    if (familyOf(this.terms.networkId) !== 'solana') return `0x${this.terms.random(32).toHex()}`;
    return base58(this.terms.random(solanaBytes));
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
