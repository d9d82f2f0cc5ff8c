import { changeQuery } from '../../router.tsx';
import { Icon, type IconName } from '../icon.tsx';

const PAGE_SIZES = [25, 50, 100];
const number = new Intl.NumberFormat();

type PagerProps = {
  total: number;
  /** Whether there are no more rows than `total`. */
  isExact?: boolean;
  /** The page in the URL, even while its rows are still loading. */
  page: number;
  limit: number;
  /** The number of the first row shown, and how many rows are shown. */
  from?: number;
  shown: number;
  what: string;
};

/** The position in the list, with its total. Its controls change `page` and `limit` in the URL. */
export function Pager({ total, isExact = true, page, limit, ...props }: PagerProps) {
  const { from = (page - 1) * limit + 1, shown, what } = props;
  const last = Math.max(1, Math.ceil(total / limit));
  return (
    <nav class="pager" aria-label={`Pagination of ${what}`}>
      <p class="number" role="status">
        {shown === 0 ? '0' : `${number.format(from)}–${number.format(from + shown - 1)}`} of{' '}
        {isExact ? '' : 'more than '}
        <strong>{number.format(total)}</strong> {what}
      </p>
      <label class="pager-size">
        <span>Per page</span>
        <select value={limit} onChange={(event) => changeQuery({ limit: event.currentTarget.value, page: null })}>
          {[...new Set([...PAGE_SIZES, limit])].map((size) => (
            <option key={size} value={size}>
              {size}
            </option>
          ))}
        </select>
      </label>
      <div class="pager-steps">
        <Step icon="first" label="First page" to={1} disabled={page <= 1} />
        <Step icon="left" label="Previous page" to={page - 1} disabled={page <= 1} />
        <label class="number">
          <span class="visually-hidden">Page</span>
          <input
            type="number"
            min={1}
            max={last}
            value={page}
            onChange={(event) => changeQuery({ page: event.currentTarget.value })}
          />
          <span class="muted">
            {' '}
            / {number.format(last)}
            {isExact ? '' : '+'}
          </span>
        </label>
        <Step icon="right" label="Next page" to={page + 1} disabled={page >= last || (!isExact && shown < limit)} />
        <Step icon="last" label="Last page" to={last} disabled={!isExact || page >= last} />
      </div>
    </nav>
  );
}

function Step({ icon, label, to, disabled }: { icon: IconName; label: string; to: number; disabled: boolean }) {
  return (
    <button
      type="button"
      class="button button-icon"
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={() => changeQuery({ page: to === 1 ? null : to })}
    >
      <Icon name={icon} />
    </button>
  );
}
