import type { SourceRecentEvents, SourceRecentRequest } from '../../../client/chain/sources.ts';
import { rulesOf } from '../../../domain/chain/families/families.ts';
import { listedSymbol } from '../../../domain/chain/tokens.ts';
import { type ApiProblem, paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Address } from '../../components/values/address.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { countText } from '../../components/values/count-text.ts';
import { Time } from '../../components/values/time.tsx';
import { useResponse } from '../../use-response.ts';
import { Amount } from '../payments/amount.tsx';
import { isZero } from '../payments/words.ts';

type PreviewProps = { networkId: number; contract: string; addresses: readonly string[] };

/** The payments that the source would have reported. Asks a node only if every address is complete. */
export function RecentPayments({ networkId, contract, addresses }: PreviewProps) {
  const { addresses: form, presets } = rulesOf(networkId);
  const [preset = 'erc20'] = presets;
  if (!form.hasForm(contract) || addresses.length === 0 || !addresses.every(form.hasForm)) return null;
  return <Preview request={{ networkId, preset, contract, where: { to: [...addresses] } }} />;
}

function Preview({ request }: { request: SourceRecentRequest }) {
  const key = JSON.stringify(request);
  const { data, problem, loading, isStale } = useResponse(key, (signal) =>
    paybell().sources.previewRecent(request, { signal }),
  );
  return (
    <section class="recent-payments" aria-labelledby="recent-payments-title" aria-busy={loading}>
      <h3 id="recent-payments-title">Latest payments to these addresses</h3>
      {loading && (data === null || isStale) ? (
        <p class="muted small" role="status">
          Asking a node of the network…
        </p>
      ) : problem !== null ? (
        <NoPreview problem={problem} />
      ) : data === null ? null : (
        <Found recent={data} />
      )}
    </section>
  );
}

/** Shown if the preview fails. People can still add the source: the server then names a wrong input. */
function NoPreview({ problem }: { problem: ApiProblem }) {
  const [error] = problem.errors;
  return (
    <p class="alert alert-warning small" role="status">
      <Icon name="alert" />
      <span>
        <strong>No preview.</strong> {error === undefined ? problem.detail : `${error.name} ${error.message}`}
      </span>
    </p>
  );
}

function Found({ recent }: { recent: SourceRecentEvents }) {
  const { events, found, fromBlock, toBlock } = recent;
  const blocks = `the last ${countText(toBlock - fromBlock + 1)} blocks`;
  if (events.length === 0) {
    return (
      <p class="muted small" role="status">
        No payments in {blocks}. Paybell reports payments from the next block on.
      </p>
    );
  }
  return (
    <>
      <p class="muted small" role="status">
        {found > events.length
          ? `The newest ${events.length} of ${countText(found)} payments`
          : `All ${countText(found)} payments`}{' '}
        in {blocks}. Nothing is stored. The source reports payments from the next block on.
      </p>
      <ul class="recent-list">
        {events.map((event) => (
          <li key={event.factId}>
            <Amount payment={paidIn(recent.networkId, event)} />
            {event.isDust ? (
              <Badge
                tone="neutral"
                icon="minus"
                label={isZero(paidIn(recent.networkId, event)) ? 'Zero amount' : 'Dust'}
              />
            ) : null}
            <span class="parties small">
              from <Address value={String(event.fields.payer ?? 'unknown')} label="payer" />
            </span>
            <span class="muted small recent-date">
              {event.dateBlock === null ? `block ${countText(event.blockNumber)}` : <Time seconds={event.dateBlock} />}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function paidIn(networkId: number, { contract, fields }: SourceRecentEvents['events'][number]) {
  const symbol = listedSymbol(networkId, contract);
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return {
    amount: text(fields.amount),
    amountBase: text(fields.amountBase),
    token: { address: contract, symbol, decimals: null, isListed: symbol !== null },
  };
}
