import { useState } from 'preact/hooks';
import type { DeliveryMatch } from '../../../../client/deliveries.ts';
import { type FailedTrial, tryFirst } from '../../../../client/trial.ts';
import { attemptErrorText } from '../../../../contract/attempt-error-text.ts';
import { DELIVERY_STATUSES } from '../../../../domain/attempt.ts';
import { inputError, paybell } from '../../../api.ts';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Icon } from '../../../components/icon.tsx';
import { EndedField } from '../../../components/inputs.tsx';
import { FilterSelect } from '../../../components/lists/filters.tsx';
import type { Filters } from '../../../components/lists/use-list.ts';
import { withTransaction } from '../../../components/search/transaction-notice.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { countOf, countText } from '../../../components/values/count-text.ts';
import { ApiRequests } from '../../../components/view/api-requests.tsx';
import { ProblemAlert } from '../../../components/view/states.tsx';
import { changeQuery } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { STATUS_DISPLAY } from '../delivery-status.tsx';
import { FilterFields } from '../filters/filter-fields.tsx';

const STATUSES = DELIVERY_STATUSES.map((status) => [status, STATUS_DISPLAY[status].label] as const);

type DialogProps = { initial: Filters; onClose: () => void };

/** Selects the deliveries to resend and shows how many match before anything is sent. */
export function BulkResendDialog({ initial, onClose }: DialogProps) {
  const [filters, setFilters] = useState<Filters>(Object.keys(initial).length === 0 ? { status: 'failed' } : initial);
  const match = withTransaction(filters) as DeliveryMatch;
  const search = new URLSearchParams(withTransaction(filters)).toString();
  const count = useResponse(search, (signal) => paybell().deliveries.countRedelivering(match, { signal }));
  // A trial counts only for the filters with which it was made.
  const [trial, setFailed] = useState<{ trials: readonly FailedTrial[]; search: string } | null>(null);
  const failed = trial?.search === search ? trial.trials : null;
  const total = count.loading || count.problem !== null ? null : (count.data?.totalResults ?? null);
  const change = (name: string, value: string) =>
    setFilters(
      Object.fromEntries(Object.entries({ ...filters, [name]: value.trim() }).filter(([, text]) => text !== '')),
    );
  const of = { filters, change };

  const resend = async () => {
    // A failing endpoint gets one request first, and all others only if that succeeds or someone insists.
    const trials = failed === null ? await tryFirst(paybell(), match) : { tried: 0, failed: [] };
    if (trials.failed.length > 0) {
      setFailed({ trials: trials.failed, search });
      return count.reload();
    }
    if (trials.tried > 0 && (await paybell().deliveries.countRedelivering(match)).totalResults === 0) {
      showToast({ tone: 'good', text: 'Resent, and the endpoint has accepted it.' });
      return onClose();
    }
    const { redeliveryId } = await paybell().deliveries.redeliverMatching(match);
    onClose();
    changeQuery({ redelivery: redeliveryId });
  };

  return (
    <FormDialog
      title="Bulk resend"
      wide
      submit={{
        label: failed !== null ? 'Resend anyway' : total ? `Resend ${countText(total)}` : 'Resend',
        busy: failed === null ? 'Sending one first…' : 'Resending…',
        isDisabled: !total,
        isDangerous: failed !== null,
      }}
      onSubmit={resend}
      onClose={onClose}
      said={search}
      summary={
        <p class="number" role="status">
          {total !== null ? countOf(total, 'delivery matches', 'deliveries match') : count.problem ? '' : 'Counting…'}
        </p>
      }
    >
      {(rejection) => {
        const problem = rejection ?? count.problem;
        return (
          <>
            {failed === null ? null : <Failed trials={failed} />}
            <p class="muted">
              Resends every matching delivery once, with the same ID and body, within the rate limits of its endpoint.
              Test requests and alerts are left out. An endpoint that fails gets one request first.
            </p>
            <div class="field-grid">
              <FilterSelect {...{ of, problem }} name="status" label="Status" all="Any status" options={STATUSES} />
              <EndedField
                label="Search"
                error={inputError(problem, 'q')}
                type="search"
                placeholder="ID, URL or host"
                maxLength={256}
                spellcheck={false}
                value={filters.q ?? ''}
                onEnd={(text) => change('q', text)}
              />
              <FilterFields of={of} problem={problem} />
            </div>
            {count.problem === null ? null : <ProblemAlert problem={count.problem} />}
            <ApiRequests commands={[{ method: 'POST', path: `/deliveries/redeliver?${search}` }]} />
          </>
        );
      }}
    </FormDialog>
  );
}

function Failed({ trials }: { trials: readonly FailedTrial[] }) {
  return (
    <div class="alert alert-bad" role="alert">
      <Icon name="alert" />
      <div>
        {trials.map(({ postUrl, statusCode, error }) => (
          <p key={postUrl}>
            <strong>{statusCode === null ? attemptErrorText(error) : `HTTP ${statusCode}`}</strong> from {postUrl}
          </p>
        ))}
        <p>One request was sent first, and it failed. The others would probably fail too.</p>
      </div>
    </div>
  );
}
