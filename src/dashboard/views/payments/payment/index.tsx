import type { PaymentDetail } from '../../../../client/chain/payments.ts';
import { NATIVE_TOKEN } from '../../../../domain/chain/coin.ts';
import { explorerUrl } from '../../../../domain/networks.ts';
import { paybell } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { Address } from '../../../components/values/address.tsx';
import { countText } from '../../../components/values/count-text.ts';
import { Facts } from '../../../components/values/facts.tsx';
import { Network } from '../../../components/values/network.tsx';
import { shortText } from '../../../components/values/short-text.ts';
import { DateTime } from '../../../components/values/time.tsx';
import { LiveSwitch } from '../../../components/view/live-switch.tsx';
import { Loaded } from '../../../components/view/loaded.tsx';
import { Section } from '../../../components/view/section.tsx';
import { BackLink, ViewHead } from '../../../components/view/view-head.tsx';
import { useLiveResponse } from '../../../live.ts';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { amountText } from '../amount.tsx';
import { PaymentState } from '../state-badge.tsx';
import { type Answer, canBeUndone, sentenceOf, wasPaid, whoHasIt } from '../words.ts';
import { RawLog } from './raw-log.tsx';
import { PaymentTimeline } from './timeline.tsx';
import { PaymentWebhooks } from './webhooks.tsx';

const POLL_MS = 3_000;

/** One payment: the three answers, its timeline, and the status of each webhook. */
export function PaymentView({ paymentId }: { paymentId: string }) {
  const response = useLiveResponse(paymentId, (signal) => paybell().payments.get(paymentId, { signal }), POLL_MS);
  const { data } = response;
  return (
    <>
      <BackLink to={DASHBOARD_PATHS.payments} text="All payments" />
      <ViewHead title={data === null ? 'Payment' : titleOf(data)}>
        <LiveSwitch />
        {data === null ? null : <ExplorerLink payment={data} />}
      </ViewHead>
      <Loaded response={response} what="payment">
        {(payment) => <Payment payment={payment} />}
      </Loaded>
    </>
  );
}

/** Adds words, because an announced payment may have neither a token nor a payer, and a number alone is not a title. */
function titleOf(payment: PaymentDetail): string {
  const { amount, token, payer } = payment;
  const what = amount !== null && token.symbol === null && token.address === null ? 'Payment of ' : '';
  return `${what}${amountText(payment)}${payer === null ? '' : ` from ${shortText(payer)}`}`;
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
          <Section title="Timeline" isCard>
            <PaymentTimeline payment={payment} />
          </Section>
          <Section title="Details" isCard>
            <Details payment={payment} />
            <RawLog paymentId={payment.paymentId} />
          </Section>
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
  const url = explorerUrl(networkId, 'transaction', transactionHash);
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
    <Facts
      of={{
        Network: <Network networkId={networkId} />,
        Transaction: <Address value={transactionHash} label="transaction" on={{ networkId, page: 'transaction' }} />,
        From: payer === null ? '–' : <Address value={payer} label="payer" on={{ networkId, page: 'address' }} />,
        To: payee === null ? '–' : <Address value={payee} label="payee" on={{ networkId, page: 'address' }} />,
        Token: <Token token={token} networkId={networkId} />,
        Block: (
          <>
            <span class="number">{countText(blockNumber)}</span>{' '}
            {dateBlock === null ? null : (
              <span class="small muted">
                <DateTime seconds={dateBlock} />
              </span>
            )}
          </>
        ),
        Agreement: agreementId === null ? null : <Subject id={agreementId} />,
        Transfer: transferId === null ? null : <Subject id={transferId} />,
        Payment: <Address value={payment.paymentId} label="payment ID" />,
      }}
    />
  );
}

function Token({ networkId, token: { address, symbol, isListed } }: Pick<PaymentDetail, 'networkId' | 'token'>) {
  return (
    <>
      {address === null || address === NATIVE_TOKEN ? (
        (address ?? '–')
      ) : (
        <Address value={address} label="token" on={{ networkId, page: 'token' }} />
      )}{' '}
      {symbol === null ? null : (
        <span class="small muted">{isListed ? symbol : `calls itself ${symbol}, unverified`}</span>
      )}
    </>
  );
}

/** Links to the other payments of the agreement or transfer. */
function Subject({ id }: { id: string }) {
  return (
    <code>
      <Link to={urlFor(DASHBOARD_PATHS.payments, { q: id })}>{id}</Link>
    </code>
  );
}
