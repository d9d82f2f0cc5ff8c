import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { navigate, urlFor } from '../../router.tsx';

/** Finds a payment from the start page, by whatever a person has in hand. */
export function PaymentSearch() {
  return (
    <search>
      <form
        class="payment-search"
        onSubmit={(event) => {
          event.preventDefault();
          const q = String(new FormData(event.currentTarget).get('q') ?? '').trim();
          navigate(urlFor(DASHBOARD_PATHS.payments, { q }));
        }}
      >
        <Field label="Find a payment" class="field-grow">
          {(control) => (
            <input
              {...control}
              name="q"
              type="search"
              maxLength={256}
              spellcheck={false}
              placeholder="Transaction hash, address, amount, agreement or transfer"
            />
          )}
        </Field>
        <button type="submit" class="button button-primary">
          <Icon name="search" size={14} />
          Find
        </button>
      </form>
    </search>
  );
}
