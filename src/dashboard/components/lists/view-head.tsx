import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

type ViewHeadProps = { title: string; about?: ComponentChildren; children?: ComponentChildren };

/** The head of a view: its name, a sentence, and on the right what can be done. */
export function ViewHead({ title, about, children }: ViewHeadProps) {
  useEffect(() => {
    document.title = `${title} · Paybell`;
  }, [title]);
  return (
    <header class="view-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {about === undefined ? null : <p class="muted">{about}</p>}
      </div>
      {children === undefined ? null : <div class="actions">{children}</div>}
    </header>
  );
}
