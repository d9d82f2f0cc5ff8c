import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { Link } from '../../router.tsx';
import { Icon } from '../icon.tsx';

type ViewHeadProps = { title: string; description?: string; children?: ComponentChildren };

/** The header of a view: title, description and actions. It also sets the title of the document. */
export function ViewHead({ title, description, children }: ViewHeadProps) {
  useEffect(() => {
    document.title = `${title} · Paybell`;
  }, [title]);
  return (
    <header class="view-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {description === undefined ? null : <p class="muted">{description}</p>}
      </div>
      {children === undefined ? null : <div class="actions">{children}</div>}
    </header>
  );
}

/** Leads from the page of one thing to the list of all. */
export function BackLink({ to, text }: { to: string; text: string }) {
  return (
    <p class="back small">
      <Link to={to}>
        <Icon name="left" size={12} /> {text}
      </Link>
    </p>
  );
}
