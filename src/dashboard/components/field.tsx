import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

type FieldProps = {
  label: string;
  class?: string;
  hint?: ComponentChildren;
  fault?: string | null;
  /** Draws the control with what ties it to its label, its hint and its fault. */
  children: (control: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ComponentChildren;
};

/** A labelled control. Its fault, if the server found one, is read out with it. */
export function Field({ label, class: extra = '', hint, fault = null, children }: FieldProps) {
  const id = useId();
  const aboutId = `${id}-about`;
  return (
    <div class={`field ${extra}`}>
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': aboutId, 'aria-invalid': fault !== null })}
      <p id={aboutId} class={fault === null ? 'hint' : 'hint fault'}>
        {fault ?? hint}
      </p>
    </div>
  );
}
