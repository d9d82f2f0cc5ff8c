import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export type FieldProps = {
  label: string;
  class?: string;
  hint?: ComponentChildren;
  error?: ComponentChildren;
  /** Renders the control with the attributes that connect it to its label, hint and error. */
  children: (control: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ComponentChildren;
};

/** A labelled control. An error replaces the hint, and a screen reader announces either with the control. */
export function Field({ label, class: extra = '', hint, error = null, children }: FieldProps) {
  const id = useId();
  const descriptionId = `${id}-description`;
  return (
    <div class={`field ${extra}`}>
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': descriptionId, 'aria-invalid': error !== null })}
      <p id={descriptionId} class={error === null ? 'hint' : 'hint error-text'}>
        {error ?? hint}
      </p>
    </div>
  );
}
