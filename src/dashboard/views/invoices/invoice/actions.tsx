import { useState } from 'preact/hooks';
import type { InvoiceDetail } from '../../../../client/chain/invoices.ts';
import { paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { Icon } from '../../../components/icon.tsx';
import { runAction } from '../../../components/run-action.ts';
import { priceText } from '../words.ts';

type ActionProps = { invoice: InvoiceDetail; reload: () => Promise<void> };

/** An invoice that is paid cannot be cancelled. */
const CANCELLABLE: ReadonlySet<string> = new Set(['open', 'underpaid', 'expired']);

/** Cancels after a confirmation. */
export function CancelInvoice({ invoice, reload }: ActionProps) {
  const [isOpen, setIsOpen] = useState(false);
  if (!CANCELLABLE.has(invoice.state)) return null;
  const cancel = async () => {
    await paybell().invoices.cancel(invoice.invoiceId);
    await reload();
    setIsOpen(false);
  };
  return (
    <>
      <ActionButton needs="invoices:write" onClick={() => setIsOpen(true)}>
        <Icon name="cross" size={14} />
        Cancel invoice
      </ActionButton>
      {isOpen ? (
        <FormDialog
          title="Cancel this invoice?"
          submit={{ label: 'Cancel invoice', busy: 'Cancelling…', isDangerous: true }}
          onSubmit={cancel}
          onClose={() => setIsOpen(false)}
        >
          {() => (
            <p>
              Payments that arrive from now on have no invoice.
              {invoice.received === '0' ? null : ` ${priceText(invoice.received, invoice)} was received already.`} This
              cannot be undone.
            </p>
          )}
        </FormDialog>
      ) : null}
    </>
  );
}

/** Asks a node for the balance of the address now. */
export function CheckBalance({ invoice: { invoiceId }, reload }: ActionProps) {
  const check = async () => {
    const isDone = await runAction(
      () => paybell().invoices.check(invoiceId),
      'Paybell has asked a node for the balance.',
      'Balance not checked.',
    );
    if (isDone) await reload();
  };
  return (
    <ActionButton needs="invoices:write" class="button button-small" onClick={() => void check()}>
      <Icon name="retry" size={14} />
      Check balance
    </ActionButton>
  );
}
