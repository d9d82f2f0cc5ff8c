import { useState } from 'preact/hooks';
import type { DeliveryMatch } from '../../../../client/types.ts';
import { DELIVERY_STATUSES } from '../../../../domain/attempt.ts';
import { type ApiProblem, asProblem, faultOf, paybell } from '../../../api.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { Notice } from '../../../components/lists/states.tsx';
import { Curl } from '../../../components/values/copy.tsx';
import { changeQuery } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { STATUS_LOOKS } from '../delivery-status.tsx';
import { FilterFields, type FilterName, type FilterValues } from '../filters/filter-fields.tsx';

const number = new Intl.NumberFormat();

type DialogProps = { start: FilterValues; onClose: () => void };

/** Which deliveries are sent again, and how many that are, before anything is sent. */
export function ResendDialog({ start, onClose }: DialogProps) {
  const [values, setValues] = useState<FilterValues>(Object.keys(start).length === 0 ? { status: 'failed' } : start);
  const [refusal, setRefusal] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  const match = Object.fromEntries(Object.entries(values)) as DeliveryMatch;
  const search = new URLSearchParams(values).toString();
  const count = useResponse(search, (signal) => paybell().deliveries.countRedelivering(match, { signal }));
  const total = count.loading || count.problem !== null ? null : (count.data?.totalResults ?? null);
  const problem = refusal ?? count.problem;
  const change = (name: FilterName, value: string) => {
    setRefusal(null);
    setValues(Object.fromEntries(Object.entries({ ...values, [name]: value }).filter(([, text]) => text !== '')));
  };

  const redeliver = async () => {
    setBusy(true);
    try {
      const { redeliveryId } = await paybell().deliveries.redeliverMatching(match);
      onClose();
      changeQuery({ redelivery: redeliveryId });
    } catch (error) {
      setRefusal(asProblem(error));
      setBusy(false);
    }
  };

  return (
    <Dialog title="Send many again" onClose={onClose} wide>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void redeliver();
        }}
      >
        <div class="dialog-body">
          <p class="muted">
            One more post for each delivery that matches, with the same id and the same bytes, never faster than its
            receiver’s limits. At least one filter is needed.
          </p>
          <div class="field-grid">
            <StatusField value={values.status ?? ''} onChange={change} problem={problem} />
            <FilterFields values={values} onChange={change} problem={problem} />
          </div>
          {problem === null ? null : <Notice problem={problem} />}
          <details>
            <summary>The same from a terminal</summary>
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
            {total === null || total === 0 ? 'Send again' : `Send ${number.format(total)} again`}
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

type StatusFieldProps = {
  value: string;
  onChange: (name: FilterName, value: string) => void;
  problem: ApiProblem | null;
};

function StatusField({ value, onChange, problem }: StatusFieldProps) {
  return (
    <Field label="Status" fault={faultOf(problem, 'status')}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange('status', event.currentTarget.value)}>
          <option value="">Any status</option>
          {DELIVERY_STATUSES.map((status) => (
            <option key={status} value={status}>
              {STATUS_LOOKS[status].label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
