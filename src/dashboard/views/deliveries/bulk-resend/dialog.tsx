import { useState } from 'preact/hooks';
import type { DeliveryMatch } from '../../../../client/deliveries.ts';
import { DELIVERY_STATUSES } from '../../../../domain/attempt.ts';
import { type ApiProblem, asProblem, inputError, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { withTransaction } from '../../../components/search/transaction-notice.tsx';
import { Curl } from '../../../components/values/copy.tsx';
import { ProblemAlert } from '../../../components/view/states.tsx';
import { changeQuery } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { STATUS_DISPLAY } from '../delivery-status.tsx';
import { FilterFields, type FilterName, type FilterValues } from '../filters/filter-fields.tsx';

const number = new Intl.NumberFormat();

type DialogProps = { initial: FilterValues; onClose: () => void };

/** Selects the deliveries to resend and shows how many match before anything is sent. */
export function BulkResendDialog({ initial, onClose }: DialogProps) {
  const [values, setValues] = useState<FilterValues>(
    Object.keys(initial).length === 0 ? { status: 'failed' } : initial,
  );
  const [rejection, setRejection] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  const match = withTransaction(values) as DeliveryMatch;
  const search = new URLSearchParams(withTransaction(values)).toString();
  const count = useResponse(search, (signal) => paybell().deliveries.countRedelivering(match, { signal }));
  const total = count.loading || count.problem !== null ? null : (count.data?.totalResults ?? null);
  const problem = rejection ?? count.problem;
  const change = (name: FilterName, value: string) => {
    setRejection(null);
    setValues(Object.fromEntries(Object.entries({ ...values, [name]: value }).filter(([, text]) => text !== '')));
  };

  const resend = async () => {
    setBusy(true);
    try {
      const { redeliveryId } = await paybell().deliveries.redeliverMatching(match);
      onClose();
      changeQuery({ redelivery: redeliveryId });
    } catch (error) {
      setRejection(asProblem(error));
      setBusy(false);
    }
  };

  return (
    <Dialog title="Bulk resend" onClose={onClose} wide>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void resend();
        }}
      >
        <div class="dialog-body">
          <p class="muted">
            Resends every matching delivery once, with the same ID and body, within the rate limits of its endpoint.
            Test requests and alerts are left out. Choose at least one filter.
          </p>
          <div class="field-grid">
            <StatusField value={values.status ?? ''} onChange={change} problem={problem} />
            <SearchField value={values.q ?? ''} onChange={change} problem={problem} />
            <FilterFields values={values} onChange={change} problem={problem} />
          </div>
          {problem === null ? null : <ProblemAlert problem={problem} />}
          <details>
            <summary>Equivalent API request</summary>
            <Curl method="POST" path={`/deliveries/redeliver?${search}`} />
          </details>
        </div>
        <footer class="dialog-foot">
          <p class="number" role="status">
            {total === null ? problem === null ? 'Counting…' : '' : <Matches total={total} />}
          </p>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button button-primary" disabled={busy || total === null || total === 0}>
            {total === null || total === 0 ? 'Resend' : `Resend ${number.format(total)}`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function Matches({ total }: { total: number }) {
  return (
    <>
      <strong>{number.format(total)}</strong> {total === 1 ? 'delivery matches' : 'deliveries match'}
    </>
  );
}

type OwnFieldProps = {
  value: string;
  onChange: (name: FilterName, value: string) => void;
  problem: ApiProblem | null;
};

function StatusField({ value, onChange, problem }: OwnFieldProps) {
  return (
    <Field label="Status" error={inputError(problem, 'status')}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange('status', event.currentTarget.value)}>
          <option value="">Any status</option>
          {DELIVERY_STATUSES.map((status) => (
            <option key={status} value={status}>
              {STATUS_DISPLAY[status].label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function SearchField({ value, onChange, problem }: OwnFieldProps) {
  return (
    <Field label="Search" error={inputError(problem, 'q')}>
      {(control) => (
        <input
          {...control}
          type="search"
          placeholder="ID, URL or host"
          maxLength={256}
          spellcheck={false}
          value={value}
          onChange={(event) => onChange('q', event.currentTarget.value.trim())}
        />
      )}
    </Field>
  );
}
