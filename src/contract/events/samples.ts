import { caip2, familyOf } from '../../domain/chain/families/families.ts';
import { type EventKind, isEventKind, RETRACTION } from '../../domain/event-kinds.ts';
import type { EventRetracted, FieldsOf } from './payloads.ts';

/** A realistic payload of every event kind, for test requests and the documentation. */

type Addresses = { payer: string; payee: string; token: string; transactionHash: string };

const ETHEREUM_LIKE: Addresses = {
  payer: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  payee: '0x52908400098527886E0F7030069857D2E4169EE7',
  token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  transactionHash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
};

const SOLANA_LIKE: Addresses = {
  payer: '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU',
  payee: '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM',
  token: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  transactionHash: '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW',
};

const PAYMENT_ID = 'pay_4k7m2x9q1v8c3b6n5z0t1w2r3y';
const AMOUNT = '25.00';
const MONTH_S = 30 * 24 * 3600;

export type SampleEvent = { [field: string]: unknown; eventId: string; event: string; networkId: number };

/** Ids of one sample, from the id of its event: no sample supersedes another, or waits for one. */
function idsOf(eventId: string): { agreementId: string; transferId: string } {
  const own = eventId.replace(/^evt_/, '');
  return { agreementId: `agr_${own}`, transferId: `trf_${own}` };
}

type Facts = Addresses & ReturnType<typeof idsOf>;

function agreement({ agreementId, payer, payee, token }: Facts) {
  const terms = { amount: AMOUNT, currency: 'USDC', token, intervalDays: 30 };
  return { agreementId, payer, payee, ...terms };
}

function transfer({ transferId, agreementId, payer, payee, token }: Facts) {
  const value = { amount: AMOUNT, currency: 'USDC', token };
  return { transferId, agreementId, payer, payee, ...value };
}

/** The meaning of each event kind for a receiver. */
export const EVENT_MEANINGS: Readonly<Record<EventKind, string>> = {
  AgreementSignedUp: 'A payer has signed an agreement. Transfers can become due under it from now on.',
  AgreementCancelled: 'An agreement has ended. No further transfers are made under it.',
  ScheduledAgreementCancel: 'An agreement will end on `dateEnds`. Until then it stays in force.',
  TransferProcessed:
    'A transfer is in a transaction that is not final yet and can still be reverted. Show it, but do not deliver goods ' +
    'for it.',
  TransferCreated: 'A transfer was created and is waiting for payment. Nothing is on the network yet.',
  TransferFinalized: 'The transaction of a transfer is final. This is the event to act on.',
  LatePayment: 'A transfer was due on `dateDue` and has not been paid.',
};

type Sample<Kind extends EventKind = EventKind> = (facts: Facts, nowS: number) => FieldsOf<Kind>;

const SAMPLES: { [Kind in EventKind]: Sample<Kind> } = {
  AgreementSignedUp: (a, nowS) => ({ ...agreement(a), dateSigned: nowS, transactionHash: a.transactionHash }),
  AgreementCancelled: (a, nowS) => ({ ...agreement(a), dateCancelled: nowS, cancelledBy: 'payer' }),
  ScheduledAgreementCancel: (a, nowS) => ({ ...agreement(a), dateScheduled: nowS, dateEnds: nowS + MONTH_S }),
  TransferCreated: (a, nowS) => ({ ...transfer(a), status: 'created', dateDue: nowS }),
  TransferProcessed: (a) => ({
    ...transfer(a),
    status: 'processed',
    transactionHash: a.transactionHash,
    confirmations: 0,
  }),
  TransferFinalized: (a) => ({
    ...transfer(a),
    status: 'finalized',
    transactionHash: a.transactionHash,
    confirmations: 64,
  }),
  LatePayment: (a, nowS) => ({ ...transfer(a), status: 'late', dateDue: nowS - 86_400, daysLate: 1 }),
};

type Envelope<Kind extends string> = {
  eventId: string;
  event: Kind;
  networkId: number;
  network: string;
  dateCreated: number;
};

/** The payload of a sample; a union where `Kind` is one. */
export type SampleOf<Kind extends EventKind> = { [Each in Kind]: Envelope<Each> & FieldsOf<Each> }[Kind];

export function sampleOf<Kind extends EventKind>(
  kind: Kind,
  networkId: number,
  eventId: string,
  nowS: number,
): SampleOf<Kind> {
  const sample: Sample<Kind> = SAMPLES[kind];
  const facts = { ...addressesOn(networkId), ...idsOf(eventId) };
  return { ...envelope(kind, networkId, eventId, nowS), ...sample(facts, nowS) };
}

/** The payload for an event name. An extra event has only the fields that all payloads have. */
export function sampleEvent(event: string, networkId: number, eventId: string, nowS: number): SampleEvent {
  if (isEventKind(event)) return sampleOf(event, networkId, eventId, nowS);
  return envelope(event, networkId, eventId, nowS);
}

export const RETRACTION_MEANING =
  'An event that was sent before is retracted: the network has dropped the transaction, or the sender withdrew the ' +
  'event. Undo what you did for the event with the id `retracts.eventId`.';

/** A retraction with every field of a payment without an invoice. */
export type SampleRetraction = Required<Omit<EventRetracted, 'test' | 'invoice'>>;

/** Retracts the sample of `TransferProcessed` with the given id. */
export function sampleRetraction(
  networkId: number,
  eventId: string,
  retractedId: string,
  nowS: number,
): SampleRetraction {
  return {
    ...envelope(RETRACTION, networkId, eventId, nowS),
    retracts: { eventId: retractedId, event: 'TransferProcessed' },
    reason: 'reorg',
    transactionHash: addressesOn(networkId).transactionHash,
    ...idsOf(retractedId),
    paymentId: PAYMENT_ID,
    amount: AMOUNT,
    amountBase: '25000000',
    token: addressesOn(networkId).token,
    lostBlockNumber: 38_214_507,
    lostBlockHash: '0x9c1d3a7e5b20f64886ad1e73c5b9f20d47e8a6c3b1095d2f7e4a8c6b0d31f592',
    revision: 1,
  };
}

function envelope<Kind extends string>(event: Kind, networkId: number, eventId: string, nowS: number): Envelope<Kind> {
  return { eventId, event, networkId, network: caip2(networkId), dateCreated: nowS };
}

function addressesOn(networkId: number): Addresses {
  return familyOf(networkId) === 'solana' ? SOLANA_LIKE : ETHEREUM_LIKE;
}
