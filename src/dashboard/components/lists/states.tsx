import type { ComponentChildren } from 'preact';
import { type ApiProblem, missingPermission } from '../../api.ts';
import { Icon, type IconName } from '../icon.tsx';

/** What a view shows instead of its content: that it waits, that it failed, that there is nothing yet. */

export function Loading({ what }: { what: string }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading {what}</span>
      <span class="skeleton" />
      <span class="skeleton" />
      <span class="skeleton" />
    </div>
  );
}

type EmptyProps = { icon: IconName; title: string; children: ComponentChildren };

/** Says what to do next: children hold the sentence, the button and the command to copy. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <section class="state">
      <span class="state-icon">
        <Icon name={icon} size={20} />
      </span>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Failure({ problem, again }: { problem: ApiProblem; again?: () => Promise<void> }) {
  const missing = missingPermission(problem);
  if (missing !== null) return <MissingPermission permission={missing} />;
  return (
    <section class="state state-bad" role="alert">
      <span class="state-icon">
        <Icon name="alert" size={20} />
      </span>
      <h2>{problem.title}</h2>
      <FailureText problem={problem} />
      {again === undefined ? null : (
        <button type="button" class="button" onClick={() => void again()}>
          <Icon name="retry" />
          Try again
        </button>
      )}
    </section>
  );
}

function FailureText({ problem }: { problem: ApiProblem }) {
  return (
    <>
      <p>{problem.detail}</p>
      {problem.errors.map(({ name, message }) => (
        <p key={name}>
          <code>{name}</code> {message}
        </p>
      ))}
      {problem.requestId === null ? null : (
        <p class="muted small">
          Request <code>{problem.requestId}</code>
        </p>
      )}
    </>
  );
}

function MissingPermission({ permission }: { permission: string }) {
  return (
    <section class="state">
      <span class="state-icon">
        <Icon name="lock" size={20} />
      </span>
      <h2>This key may not see this</h2>
      <p>
        It lacks the permission <code>{permission}</code>. Sign in with a key that has it, or let the operator make one.
      </p>
    </section>
  );
}

/** A failure beside content that is still worth showing. */
export function Notice({ problem }: { problem: ApiProblem }) {
  return (
    <p class="notice notice-bad" role="alert">
      <Icon name="alert" />
      <span>
        <strong>{problem.title}.</strong> {problem.detail}{' '}
        {problem.errors.map(({ name, message }) => `${name} ${message}`).join('; ')}
      </span>
    </p>
  );
}
