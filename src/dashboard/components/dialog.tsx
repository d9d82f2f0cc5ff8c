import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

type DialogProps = { title: string; onClose: () => void; wide?: boolean; children: ComponentChildren };

/** The browser's own dialog: it keeps the focus inside, closes on Escape, and gives the focus back afterwards. */
export function Dialog({ title, onClose, wide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // The browser would begin with the button that closes it, and nobody opens a form for that.
    dialog.current?.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea)')?.focus();
    return () => {
      dialog.current?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={headingId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={headingId}>{title}</h2>
        <button type="button" class="button button-icon" aria-label="Close" onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
