import type { EventKind } from '../../domain/event-kinds.ts';
import { sumAmounts } from './decimals.ts';
import { type ScenarioEvent, type ScenarioTerms, ScenarioWriter } from './scenario-writer.ts';

/** The life of one agreement as a sequence of events, so that an integrator can test a billing flow from end to end. */

const DAY_S = 24 * 3_600;

export const SCENARIO_MEANINGS = {
  subscription: 'Signed up, and every payment arrives on time.',
  'late-payment': 'One payment is days late, then arrives, and the rest are on time.',
  cancelled: 'The payer gives notice, and the agreement ends with the paid period.',
  'failed-transfer': 'A transfer is never final and never paid; the payee cancels.',
  reorg: 'A payment is retracted, comes again as revision 2, and is final.',
} as const;

export type ScenarioName = keyof typeof SCENARIO_MEANINGS;
export const SCENARIO_NAMES = ['subscription', 'late-payment', 'cancelled', 'failed-transfer', 'reorg'] as const;

const SCENARIOS: Readonly<Record<ScenarioName, (writer: ScenarioWriter, periods: number) => void>> = {
  subscription(writer, periods) {
    writer.signUp();
    for (let period = 0; period < periods; period++) payOnTime(writer, period);
  },

  'late-payment'(writer, periods) {
    const latePeriod = Math.min(1, periods - 1);
    writer.signUp();
    for (let period = 0; period < periods; period++) {
      if (period !== latePeriod) payOnTime(writer, period);
      else {
        const transfer = writer.createTransfer(period);
        for (const days of [1, 3]) writer.reportLate(transfer, days);
        writer.pay(transfer, transfer.dueS + 4 * DAY_S);
      }
    }
  },

  cancelled(writer, periods) {
    writer.signUp();
    for (let period = 0; period < periods; period++) payOnTime(writer, period);
    const endsS = writer.dueOf(periods);
    writer.scheduleCancel(writer.dueOf(periods - 1) + 10 * DAY_S, endsS);
    writer.cancel(endsS, 'payer');
  },

  'failed-transfer'(writer, periods) {
    writer.signUp();
    for (let period = 0; period < periods - 1; period++) payOnTime(writer, period);
    const transfer = writer.createTransfer(periods - 1);
    writer.process(transfer, transfer.dueS + 20);
    for (const days of [1, 3, 7]) writer.reportLate(transfer, days);
    writer.cancel(transfer.dueS + 14 * DAY_S, 'payee');
  },

  reorg(writer, periods) {
    const reorgPeriod = Math.min(1, periods - 1);
    writer.signUp();
    for (let period = 0; period < periods; period++) {
      if (period !== reorgPeriod) payOnTime(writer, period);
      else {
        const transfer = writer.createTransfer(period);
        writer.payThroughReorg(transfer, transfer.dueS);
      }
    }
  },
};

/** The events of a scenario in their order; `dateCreated` is when each happens. */
export function writeScenario(name: ScenarioName, terms: ScenarioTerms, periods: number): readonly ScenarioEvent[] {
  if (!Number.isSafeInteger(periods) || periods < 1) throw new RangeError('a scenario has at least one period');
  const writer = new ScenarioWriter(terms);
  SCENARIOS[name](writer, periods);
  return writer.events;
}

/** The time from the first event to the last. */
export function scenarioLengthS(name: ScenarioName, periods: number): number {
  const terms = { networkId: 1, amount: '1', startS: 0, random: (count: number) => new Uint8Array(count) };
  return writeScenario(name, terms, periods).at(-1)?.dateCreated ?? 0;
}

/** How many transfers were created and paid, and the amount that a receiver may count as paid. */
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

function payOnTime(writer: ScenarioWriter, period: number): void {
  const transfer = writer.createTransfer(period);
  writer.pay(transfer, transfer.dueS);
}
