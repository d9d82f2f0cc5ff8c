import type { ComponentChildren } from 'preact';
import type { ApiProblem } from '../../api.ts';
import { Icon, type IconName } from '../icon.tsx';

/** The states of a view without content: loading, empty or failed. */

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

/** The children say what to do next. */
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

export function Failure({ problem, reload }: { problem: ApiProblem; reload?: () => Promise<void> }) {
  if (problem.permission !== null) return <MissingPermission permission={problem.permission} />;
  return (
    <section class="state state-bad" role="alert">
      <span class="state-icon">
        <Icon name="alert" size={20} />
      </span>
      <h2>{problem.title}</h2>
      <FailureText problem={problem} />
      {reload === undefined ? null : (
        <button type="button" class="button" onClick={() => void reload()}>
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
          Request ID <code>{problem.requestId}</code>
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
      <h2>Permission required</h2>
      <p>
        This API key is missing the <code>{permission}</code> permission. Sign in with a key that has it, or ask your
        operator for one.
      </p>
    </section>
  );
}

/** Shown instead of a part of a view that the API key may not read. */
export function NotShown({ what, permission }: { what: string; permission: string }) {
  return (
    <p class="not-shown small muted">
      <Icon name="lock" size={14} />
      <span>
        {what} are not shown: this API key is missing the <code>{permission}</code> permission.
      </span>
    </p>
  );
}

/** A problem shown above content that is still valid. */
export function ProblemAlert({ problem }: { problem: ApiProblem }) {
  return (
    <p class="alert alert-bad" role="alert">
      <Icon name="alert" />
      <span>
        <strong>{problem.title}.</strong> {problem.detail}{' '}
        {problem.errors.map(({ name, message }) => `${name} ${message}`).join('; ')}
      </span>
    </p>
  );
}
