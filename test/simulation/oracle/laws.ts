import type { Evidence } from './evidence.ts';
import { type Law, Verdict } from './law.ts';
import { changesDuringFanOut } from './laws/changes-during-fan-out.ts';
import { clock } from './laws/clock.ts';
import { counters } from './laws/counters.ts';
import { everyWebhook } from './laws/every-webhook.ts';
import { hints } from './laws/hints.ts';
import { invoices } from './laws/invoices.ts';
import { lastWord } from './laws/last-word.ts';
import { mayBeReceived } from './laws/may-be-received.ts';
import { oneDelivery } from './laws/one-delivery.ts';
import { oneFinality } from './laws/one-finality.ts';
import { order } from './laws/order.ts';
import { reconciliation } from './laws/reconciliation.ts';
import { retractions } from './laws/retractions.ts';
import { sequences } from './laws/sequences.ts';
import { workEnds } from './laws/work-ends.ts';

/** The laws, in the order of their numbers. */
export const LAWS: readonly Law[] = [
  ...[oneDelivery, everyWebhook, changesDuringFanOut, oneFinality, lastWord, retractions, mayBeReceived],
  ...[order, hints, workEnds, counters, sequences, reconciliation, clock],
  invoices,
];

export type Violation = { readonly law: string; readonly text: string };

export type Judgement = {
  readonly violations: readonly Violation[];
  /** By law, how many things it looked at. */
  readonly checked: Readonly<Record<string, number>>;
};

export function judge(evidence: Evidence, laws = LAWS): Judgement {
  const violations: Violation[] = [];
  const checked: Record<string, number> = {};
  for (const { id, check } of laws) {
    const verdict = new Verdict();
    check(evidence, verdict);
    checked[id] = verdict.checked;
    for (const text of verdict.violations) violations.push({ law: id, text });
  }
  return { violations, checked };
}
