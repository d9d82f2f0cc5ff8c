import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

type DialogProps = { title: string; onClose: () => void; wide?: boolean; children: ComponentChildren };

/** A native modal dialog: it traps the focus, closes on Escape and returns the focus to its opener. */
export function Dialog({ title, onClose, wide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  // Before the next frame, so that the dialog gets a key that someone presses right after opening it.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // Focuses a field, because the browser would focus the close button.
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
