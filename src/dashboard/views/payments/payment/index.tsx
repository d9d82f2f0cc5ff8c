import type { PaymentDetail } from '../../../../client/chain/payments.ts';
import { explorerUrl } from '../../../../domain/networks.ts';
import { isPermanent, paybell } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { Address } from '../../../components/values/address.tsx';
import { Network } from '../../../components/values/network.tsx';
import { shortText } from '../../../components/values/short-text.ts';
import { DateTime } from '../../../components/values/time.tsx';
import { LiveSwitch } from '../../../components/view/live-switch.tsx';
import { Failure, Loading, ProblemAlert } from '../../../components/view/states.tsx';
import { ViewHead } from '../../../components/view/view-head.tsx';
import { live, usePolling } from '../../../live.ts';
import { useObservable } from '../../../observable.ts';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { amountText } from '../amount.tsx';
import { PaymentState } from '../state-badge.tsx';
import { type Answer, canBeUndone, sentenceOf, wasPaid, whoHasIt } from '../words.ts';
import { RawLog } from './raw-log.tsx';
import { PaymentTimeline } from './timeline.tsx';
import { PaymentWebhooks } from './webhooks.tsx';

const POLL_MS = 3_000;
const number = new Intl.NumberFormat();

/** One payment: the three answers, its timeline, and the status of each webhook. */
export function PaymentView({ paymentId }: { paymentId: string }) {
  const { data, problem, reload } = useResponse(paymentId, (signal) => paybell().payments.get(paymentId, { signal }));
  const on = useObservable(live);
  usePolling(on && !isPermanent(problem), POLL_MS, async () => {
    await reload();
    return true;
  });
  return (
    <>
      <p class="back small">
        <Link to={DASHBOARD_PATHS.payments}>
          <Icon name="left" size={12} /> All payments
        </Link>
      </p>
      <ViewHead title={data === null ? 'Payment' : titleOf(data)}>
        <LiveSwitch />
        {data === null ? null : <ExplorerLink payment={data} />}
      </ViewHead>
      {data === null && problem !== null ? <Failure problem={problem} reload={reload} /> : null}
      {data === null && problem === null ? <Loading what="payment" /> : null}
      {data !== null && problem !== null ? <ProblemAlert problem={problem} /> : null}
      {data === null ? null : <Payment payment={data} />}
    </>
  );
}

function titleOf(payment: PaymentDetail): string {
  const payer = payment.payer === null ? '' : ` from ${shortText(payment.payer)}`;
  return `${amountText(payment)}${payer}`;
}

function Payment({ payment }: { payment: PaymentDetail }) {
  const nowS = Date.now() / 1000;
  return (
    <>
      <div class="payment-sentence">
        <span>
          <PaymentState payment={payment} />
        </span>
        <p role="status">{sentenceOf(payment, nowS)}</p>
      </div>
      <dl class="answers">
        <AnswerCard question="Was it paid?" answer={wasPaid(payment)} />
        <AnswerCard question="Can it still be undone?" answer={canBeUndone(payment, nowS)} />
        <AnswerCard question="Which webhooks have it?" answer={whoHasIt(payment)} />
      </dl>
      <div class="payment-columns">
        <div class="stack">
          <section class="card payment-card" aria-labelledby="timeline-heading">
            <h2 id="timeline-heading">Timeline</h2>
            <PaymentTimeline payment={payment} />
          </section>
          <section class="card payment-card" aria-labelledby="details-heading">
            <h2 id="details-heading">Details</h2>
            <Details payment={payment} />
            <RawLog paymentId={payment.paymentId} />
          </section>
        </div>
        <PaymentWebhooks payment={payment} />
      </div>
    </>
  );
}

function AnswerCard({ question, answer: { short, detail, tone } }: { question: string; answer: Answer }) {
  return (
    <div class={`card answer answer-${tone}`}>
      <dt>{question}</dt>
      <dd class="answer-short">{short}</dd>
      <dd class="small muted">{detail}</dd>
    </div>
  );
}

function ExplorerLink({ payment: { networkId, transactionHash } }: { payment: PaymentDetail }) {
  const url = explorerUrl(networkId, transactionHash);
  if (url === null) return null;
  return (
    <a class="button" href={url} target="_blank" rel="noopener noreferrer">
      <Icon name="overview" size={14} />
      Show in explorer
    </a>
  );
}

function Details({ payment }: { payment: PaymentDetail }) {
  const { token, payer, payee, transactionHash, blockNumber, dateBlock, agreementId, transferId, networkId } = payment;
  return (
    <dl class="facts">
      <dt>Network</dt>
      <dd>
        <Network networkId={networkId} />
      </dd>
      <dt>Transaction</dt>
      <dd>
        <Address value={transactionHash} label="transaction" />
      </dd>
      <dt>From</dt>
      <dd>{payer === null ? '–' : <Address value={payer} label="payer" />}</dd>
      <dt>To</dt>
      <dd>{payee === null ? '–' : <Address value={payee} label="payee" />}</dd>
      <dt>Token</dt>
      <dd>
        {token.address === null ? '–' : <Address value={token.address} label="token" />}{' '}
        {token.symbol === null ? null : (
          <span class="small muted">{token.isListed ? token.symbol : `calls itself ${token.symbol}, unverified`}</span>
        )}
      </dd>
      <dt>Block</dt>
      <dd>
        {blockNumber === null ? '–' : <span class="number">{number.format(blockNumber)}</span>}{' '}
        {dateBlock === null ? null : (
          <span class="small muted">
            <DateTime seconds={dateBlock} />
          </span>
        )}
      </dd>
      {agreementId === null ? null : <Subject name="Agreement" id={agreementId} />}
      {transferId === null ? null : <Subject name="Transfer" id={transferId} />}
      <dt>Payment</dt>
      <dd>
        <Address value={payment.paymentId} label="payment ID" />
      </dd>
    </dl>
  );
}

/** Leads to the other payments of the agreement or transfer. */
function Subject({ name, id }: { name: string; id: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code>
          <Link to={urlFor(DASHBOARD_PATHS.payments, { q: id })}>{id}</Link>
        </code>
      </dd>
    </>
  );
}
