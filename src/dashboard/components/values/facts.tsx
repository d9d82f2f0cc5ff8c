import { type ComponentChildren, Fragment } from 'preact';
import { CopyButton } from './copy.tsx';

type FactsProps = {
  /** Values by their names. Null leaves a name out. */
  of: Readonly<Record<string, ComponentChildren>>;
};

/** Names with their values. */
export function Facts({ of }: FactsProps) {
  return (
    <dl class="facts">
      {Object.entries(of).map(([name, value]) =>
        value === null ? null : (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
      )}
    </dl>
  );
}

type CopiedIdProps = { id: string; what: string; title?: string; children?: ComponentChildren };

/** An id that a person copies. It is cut if it does not fit. */
export function CopiedId({ id, what, title = id, children = id }: CopiedIdProps) {
  return (
    <span class="id">
      <span class="cut" title={title}>
        <code>{children}</code>
      </span>
      <CopyButton text={id} label={`Copy ${what}`} compact />
    </span>
  );
}
