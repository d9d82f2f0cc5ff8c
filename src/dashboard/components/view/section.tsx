import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

type SectionProps = {
  title: string;
  isCard?: boolean;
  class?: string;
  /** Stand at the right of the heading. */
  actions?: ComponentChildren;
  children: ComponentChildren;
};

/** A part of a view with a heading that names it. */
export function Section({ title, isCard = false, class: className = '', actions, children }: SectionProps) {
  const id = useId();
  return (
    <section class={`section ${isCard ? 'card section-card' : ''} ${className}`} aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}
