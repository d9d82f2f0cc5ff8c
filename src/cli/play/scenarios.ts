import type { EventKind } from '../../domain/event-kinds.ts';
import { sumAmounts } from './decimals.ts';
import { type ScenarioEvent, type ScenarioTerms, ScenarioWriter } from './scenario-writer.ts';

/** Whole stories of one agreement, so that an integrator can see a billing flow through from end to end. */

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

export const SCENARIO_MEANINGS = {
  subscription: 'Signed, and every payment arrives in time.',
  'late-payment': 'One payment is days late, then arrives, and all goes on.',
  cancelled: 'The payer gives notice; it runs to what is paid, and ends.',
  'failed-transfer': 'A transfer is never made final, nobody pays, the payee ends it.',
} as const;

export type ScenarioName = keyof typeof SCENARIO_MEANINGS;
export const SCENARIO_NAMES = Object.keys(SCENARIO_MEANINGS) as ScenarioName[];

const TELLINGS: Readonly<Record<ScenarioName, (teller: ScenarioWriter, periods: number) => void>> = {
  subscription(teller, periods) {
    teller.signUp();
    for (let period = 0; period < periods; period++) payInTime(teller, period);
  },

  'late-payment'(teller, periods) {
    const late = Math.min(1, periods - 1);
    teller.signUp();
    for (let period = 0; period < periods; period++) {
      if (period !== late) payInTime(teller, period);
      else {
        const transfer = teller.createTransfer(period);
        for (const days of [1, 3]) teller.reportLate(transfer, days);
        teller.settle(transfer, transfer.dueS + 4 * DAY_S);
      }
    }
  },

  cancelled(teller, periods) {
    teller.signUp();
    for (let period = 0; period < periods; period++) payInTime(teller, period);
    const endsS = teller.dueOf(periods);
    teller.scheduleCancel(teller.dueOf(periods - 1) + 10 * DAY_S, endsS);
    teller.cancel(endsS, 'payer');
  },

  'failed-transfer'(teller, periods) {
    teller.signUp();
    for (let period = 0; period < periods - 1; period++) payInTime(teller, period);
    const transfer = teller.createTransfer(periods - 1);
    teller.process(transfer, transfer.dueS + 20);
    for (const days of [1, 3, 7]) teller.reportLate(transfer, days);
    teller.cancel(transfer.dueS + 14 * DAY_S, 'payee');
  },
};

/** All events of a story in their order; `dateCreated` is the moment at which each happens. */
export function writeScenario(name: ScenarioName, terms: ScenarioTerms, periods: number): readonly ScenarioEvent[] {
  if (!Number.isSafeInteger(periods) || periods < 1) throw new RangeError('a story has at least one period');
  const teller = new ScenarioWriter(terms);
  TELLINGS[name](teller, periods);
  return teller.events;
}

/** From its first event to its last. */
export function scenarioLengthS(name: ScenarioName, periods: number): number {
  const still = { networkId: 1, amount: '1', startS: 0, random: (count: number) => new Uint8Array(count) };
  return writeScenario(name, still, periods).at(-1)?.dateCreated ?? 0;
}

/** What it comes to: what was due, and what a receiver may take for paid. */
export function summarizeScenario(events: readonly ScenarioEvent[]): {
  transfers: number;
  paid: number;
  amount: string;
} {
  const ofKind = <Kind extends EventKind>(kind: Kind) =>
    events.filter((event): event is ScenarioEvent & { event: Kind } => event.event === kind);
  const finalized = ofKind('TransferFinalized');
  return {
    transfers: ofKind('TransferCreated').length,
    paid: finalized.length,
    amount: sumAmounts(finalized.map(({ amount }) => amount)),
  };
}

function payInTime(teller: ScenarioWriter, period: number): void {
  const transfer = teller.createTransfer(period);
  teller.settle(transfer, transfer.dueS);
}
