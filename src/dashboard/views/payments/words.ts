import type { Payment, PaymentDetail } from '../../../client/chain/payments.ts';
import type { Display, Tone } from '../../components/values/badge.tsx';
import { countOf, countText } from '../../components/values/count-text.ts';
import { durationText } from '../../components/values/duration-text.ts';

/** The state of a payment in words: whether it was paid, and whether it can still be undone. */

export const STATE_DISPLAY: Readonly<Record<Payment['state'], Display>> = {
  waiting: { label: 'Waiting', tone: 'neutral', icon: 'clock' },
  seen: { label: 'Seen', tone: 'info', icon: 'check' },
  safe: { label: 'Safe', tone: 'info', icon: 'check' },
  final: { label: 'Final', tone: 'good', icon: 'double' },
  lost: { label: 'Lost', tone: 'warning', icon: 'alert' },
  retracted: { label: 'Retracted', tone: 'bad', icon: 'undo' },
};

export type Answer = { readonly short: string; readonly detail: string; readonly tone: Tone };

/** Anyone can write a log with the amount 0 about any address. */
export function isZero({ amount, amountBase }: Pick<Payment, 'amount' | 'amountBase'>): boolean {
  return /^0+(?:\.0+)?$/.test(amount ?? amountBase ?? '');
}

export function wasPaid(payment: Payment): Answer {
  const { state, blockNumber, isDisputed, isDust } = payment;
  if (isZero(payment)) return { short: 'No', detail: 'The amount is 0: nothing was moved.', tone: 'neutral' };
  const block = blockNumber === null ? 'a block' : `block ${countText(blockNumber)}`;
  if (isDisputed) {
    return { short: 'Unclear', detail: `Nodes disagree whether ${block} has the payment.`, tone: 'warning' };
  }
  switch (state) {
    case 'waiting':
      return { short: 'Not yet', detail: 'No block has the transaction.', tone: 'neutral' };
    case 'lost':
      return {
        short: 'Not now',
        detail: 'Its block is gone. The payment may return in another block.',
        tone: 'warning',
      };
    case 'retracted':
      return { short: 'No', detail: 'The payment is gone, and Paybell has retracted it.', tone: 'bad' };
    default:
      return { short: 'Yes', detail: `In ${block}${isDust ? ', below the least amount' : ''}.`, tone: 'good' };
  }
}

export function canBeUndone(payment: Payment, nowS: number): Answer {
  const { state, confirmations } = payment;
  if (isZero(payment)) return { short: 'Nothing to undo', detail: 'Nothing was paid.', tone: 'neutral' };
  const blocks = confirmations === null ? '' : `It has ${countOf(confirmations, 'confirmation')}. `;
  switch (state) {
    case 'waiting':
      return { short: 'Nothing to undo', detail: 'Nothing was paid yet.', tone: 'neutral' };
    case 'seen':
      return { short: 'Yes, by a reorg', detail: `${blocks}${finalText(payment, nowS)}`, tone: 'warning' };
    case 'safe':
      return { short: 'Hardly', detail: `${blocks}The network calls its block safe.`, tone: 'good' };
    case 'final':
      return { short: 'No', detail: `${blocks}The payment is final.`, tone: 'good' };
    case 'lost':
      return { short: 'It is undone', detail: 'Paybell retracts it if it does not return.', tone: 'warning' };
    case 'retracted':
      return { short: 'It was undone', detail: 'A reorg or a majority of nodes removed it.', tone: 'bad' };
  }
}

function finalText({ waitsFor }: Payment, nowS: number): string {
  if (waitsFor === null) return 'It is not final yet.';
  return `${waitText(waitsFor, nowS)}.`;
}

/** Such as `final in about 3 min`. */
export function waitText({ finality, dateExpected }: NonNullable<Payment['waitsFor']>, nowS: number): string {
  const level = /^[0-9]+$/.test(finality) ? countOf(Number(finality), 'confirmation') : finality;
  if (dateExpected === null) return `${capitalised(level)} is not reached yet`;
  const leftS = dateExpected - nowS;
  return leftS <= 0 ? `${capitalised(level)} any moment` : `${capitalised(level)} in about ${aboutText(leftS)}`;
}

const MINUTE_S = 60;

/** In whole minutes, because an estimate is not more exact. */
function aboutText(seconds: number): string {
  const unitS = seconds < MINUTE_S ? 1 : MINUTE_S;
  return durationText(Math.max(1, Math.round(seconds / unitS)) * unitS * 1000);
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Webhooks that have the payment, of all that get it. */
export function reachOf({ deliveries, waitsFor }: Payment): { delivered: number; all: number } {
  const { delivered, waiting, failed } = deliveries;
  return { delivered, all: delivered + waiting + failed + (waitsFor?.webhooks ?? 0) };
}

/** On the page of a payment, also counts the webhooks whose last attempt failed. */
export function whoHasIt(payment: Payment & { readonly webhooks?: PaymentDetail['webhooks'] }): Answer {
  const { delivered, all } = reachOf(payment);
  const retried = payment.webhooks?.filter(({ status }) => status === 'retrying').length ?? 0;
  const { waiting, failed } = payment.deliveries;
  if (payment.state === 'retracted') {
    const short = delivered === 0 ? 'None' : `${countOf(delivered, 'webhook')} had it`;
    return { short, detail: 'Every webhook that may have it gets a retraction.', tone: 'bad' };
  }
  if (all === 0) {
    const isLeftOut = payment.isDust || payment.isHistory;
    const detail = isLeftOut ? 'Paybell delivers nothing for it.' : 'No webhook wants this payment.';
    return { short: 'None', detail, tone: 'neutral' };
  }
  const open = [
    payment.waitsFor === null
      ? ''
      : `${countOf(payment.waitsFor.webhooks, 'webhook')} ${waits(payment.waitsFor.webhooks)}`,
    waiting <= retried ? '' : `${countOf(waiting - retried, 'delivery', 'deliveries')} on the way`,
    retried === 0 ? '' : `the last attempt to ${countOf(retried, 'webhook')} failed, and another one follows`,
    failed === 0 ? '' : `${countText(failed)} failed`,
  ].filter((text) => text !== '');
  const detail =
    open.length === 0 ? 'Every webhook that wants this payment has it.' : `${capitalised(open.join('; '))}.`;
  const tone: Tone = failed > 0 ? 'bad' : retried > 0 ? 'warning' : delivered === all ? 'good' : 'info';
  return { short: `${countText(delivered)} of ${countOf(all, 'webhook')}`, detail, tone };
}

function waits(webhooks: number): string {
  return webhooks === 1 ? 'waits' : 'wait';
}

/** One sentence about the payment: its state, and who waits. */
export function sentenceOf(payment: Parameters<typeof whoHasIt>[0], nowS: number): string {
  const { waitsFor, state, isDisputed, isDust, isHistory } = payment;
  if (isDisputed) return 'Nodes disagree about it. Paybell sends no event until they agree.';
  if (isZero(payment))
    return 'The amount is 0. Anyone can create such a transfer for any address, so Paybell delivers nothing for it.';
  if (isDust) return 'Below the minimum amount of its source. Paybell delivers nothing for it.';
  if (isHistory) return 'Older than its source. Paybell delivers nothing for it.';
  if (waitsFor !== null && (state === 'seen' || state === 'safe' || state === 'final')) {
    return `${waitText(waitsFor, nowS)}; ${countOf(waitsFor.webhooks, 'webhook')} ${waits(waitsFor.webhooks)}.`;
  }
  if (state === 'retracted') return wasPaid(payment).detail;
  return `${wasPaid(payment).detail} ${whoHasIt(payment).detail}`;
}
